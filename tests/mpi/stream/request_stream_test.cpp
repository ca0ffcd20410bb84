#include "crossdock/request_stream.hpp"

#include <gtest/gtest.h>

#include "stream/workers.hpp"

namespace crossdock::request_stream_test {
namespace {

using numbers = std::vector<std::uint64_t>;

// What worker `at` replies to a request for `key`.
std::uint64_t value_at(worker_id at, std::uint32_t key) {
    return 1'000'000 * static_cast<std::uint64_t>(at.rank) +
           100'000 * static_cast<std::uint64_t>(at.worker) + 7 * key;
}

class RequestStream : public test::StreamWays {
  protected:
    using stream_type = request_stream<std::uint32_t, std::uint64_t>;
    using port_type = stream_type::port_type;

    std::size_t number_of(worker_id id) const {
        return static_cast<std::size_t>(StreamWays::number_of(id));
    }
    worker_id worker_of(std::size_t number) const {
        return StreamWays::worker_of(static_cast<std::int64_t>(number));
    }
    std::size_t num_all_workers() const { return number_of({num_ranks(), 0}); }
};

INSTANTIATE_TEST_SUITE_P(Ways, RequestStream, testing::ValuesIn(test::stream_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(RequestStream, BringsEachReplyToItsContext) {
    constexpr std::uint32_t num_keys = 30;
    const std::size_t num_requests = num_keys * num_all_workers();
    std::vector<numbers> replies(static_cast<std::size_t>(options().workers));
    stream_type stream(
        where,
        [](port_type& port, std::span<const std::uint32_t> keys, std::span<std::uint64_t> values) {
            ASSERT_EQ(values.size(), keys.size());
            for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value_at(port.id(), keys[i]);
        },
        [&](port_type& port, std::span<const std::uint64_t> contexts,
            std::span<const std::uint64_t> values) {
            ASSERT_EQ(values.size(), contexts.size());
            numbers& own = replies[static_cast<std::size_t>(port.id().worker)];
            for (std::size_t i = 0; i < values.size(); ++i) own[contexts[i]] += values[i];
        },
        options());

    for (int phase = 1; phase <= 2; ++phase) {
        test::on_workers(options().workers, [&](int w) {
            numbers& own = replies[static_cast<std::size_t>(w)];
            own.assign(num_requests, 0);
            port_type& port = stream.port(w);
            for (std::size_t i = 0; i < num_requests; ++i) {
                const auto key = static_cast<std::uint32_t>(i / num_all_workers());
                port.request(worker_of(i % num_all_workers()), key, i);
                if (i % 11 == 0) port.progress();
            }
            port.drain().wait();
        });

        for (const numbers& own : replies) {
            for (std::size_t i = 0; i < num_requests; ++i) {
                const auto key = static_cast<std::uint32_t>(i / num_all_workers());
                ASSERT_EQ(own[i], value_at(worker_of(i % num_all_workers()), key)) << i;
            }
        }
    }
    const auto requests = static_cast<count_t>(2 * num_requests) * options().workers;
    const auto all = stream.statistics();
    EXPECT_EQ(all.items, 2 * requests);  // as many replies: everybody is asked as often as it asks
    EXPECT_EQ(all.handled, 2 * requests);
    stream.close();
}

TEST_P(RequestStream, KeepsTheOrderOfOneWorkersRepliesUnlessBuffersAreSharedOrForwarded) {
    const bool keeps_order = options().route == "auto" && !fills_together(options().scheme);
    std::vector<numbers> last(static_cast<std::size_t>(options().workers),
                              numbers(num_all_workers()));
    stream_type stream(
        where,
        [](port_type&, std::span<const std::uint32_t>, std::span<std::uint64_t> values) {
            std::fill(values.begin(), values.end(), 0);
        },
        [&](port_type& port, std::span<const std::uint64_t> contexts,
            std::span<const std::uint64_t>) {
            numbers& own = last[static_cast<std::size_t>(port.id().worker)];
            for (const std::uint64_t context : contexts) {
                std::uint64_t& before = own[context % num_all_workers()];
                if (keeps_order) {
                    ASSERT_GT(context, before);
                }
                before = context;
            }
        },
        options());
    EXPECT_EQ(stream.is_ordered(), keeps_order);

    test::on_workers(options().workers, [&](int w) {
        port_type& port = stream.port(w);
        for (std::uint64_t i = 0; i < 40 * num_all_workers(); ++i) {
            port.request(worker_of(i % num_all_workers()), 0, i + num_all_workers());
        }
        port.drain().wait();
    });
    stream.close();
}

// A list of entries that lie everywhere, followed by replies that ask for the next one.
TEST_P(RequestStream, EndsWhenRepliesHaveNothingMoreToAsk) {
    constexpr std::uint32_t entries_of_worker = 20;
    constexpr std::uint32_t num_steps = 15;
    const auto num_entries = static_cast<std::uint32_t>(entries_of_worker * num_all_workers());
    const auto next = [&](std::uint32_t entry) { return (entry * 17 + 5) % num_entries; };
    const auto ask = [&](port_type& port, std::uint32_t entry, std::uint64_t steps_left) {
        port.request(worker_of(entry / entries_of_worker), entry, steps_left);
    };
    std::vector<numbers> ends(static_cast<std::size_t>(options().workers));
    stream_type stream(
        where,
        [&](port_type& port, std::span<const std::uint32_t> entries, std::span<std::uint64_t> to) {
            for (std::size_t i = 0; i < entries.size(); ++i) {
                ASSERT_EQ(entries[i] / entries_of_worker, number_of(port.id()));
                to[i] = next(entries[i]);
            }
        },
        [&](port_type& port, std::span<const std::uint64_t> steps_left,
            std::span<const std::uint64_t> found) {
            for (std::size_t i = 0; i < found.size(); ++i) {
                if (steps_left[i] > 0) {
                    ask(port, static_cast<std::uint32_t>(found[i]), steps_left[i] - 1);
                } else {
                    ends[static_cast<std::size_t>(port.id().worker)].push_back(found[i]);
                }
            }
        },
        options());

    numbers expected;
    for (std::uint32_t entry = 0; entry < 3; ++entry) {
        std::uint32_t at = entry;
        for (std::uint32_t step = 0; step < num_steps; ++step) at = next(at);
        expected.push_back(at);
    }
    std::sort(expected.begin(), expected.end());
    test::on_workers(options().workers, [&](int w) {
        for (std::uint32_t entry = 0; entry < 3; ++entry) {
            ask(stream.port(w), entry, num_steps - 1);
        }
        stream.port(w).drain().wait();
    });

    for (numbers& found : ends) {
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected);
    }
    stream.close();
}

// Who is asked asks the next worker before it answers, with one step less.
TEST_P(RequestStream, LetsThoseAskWhoAnswer) {
    std::vector<std::uint64_t> num_replies(static_cast<std::size_t>(options().workers));
    std::vector<std::uint64_t> num_answers(num_replies);
    stream_type stream(
        where,
        [&](port_type& port, std::span<const std::uint32_t> steps, std::span<std::uint64_t> to) {
            num_answers[static_cast<std::size_t>(port.id().worker)] += steps.size();
            const auto next = worker_of((number_of(port.id()) + 1) % num_all_workers());
            for (std::size_t i = 0; i < steps.size(); ++i) {
                if (steps[i] > 0) port.request(next, steps[i] - 1, steps[i] - 1);
                to[i] = steps[i] + 3;
            }
        },
        [&](port_type& port, std::span<const std::uint64_t> contexts,
            std::span<const std::uint64_t> values) {
            num_replies[static_cast<std::size_t>(port.id().worker)] += values.size();
            for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], contexts[i] + 3);
        },
        options());
    const auto num_all = static_cast<std::uint32_t>(num_all_workers());

    test::on_workers(options().workers, [&](int w) {
        stream.port(w).request(stream.port(w).id(), 2 * num_all - 1, 2 * num_all - 1);
        stream.port(w).drain().wait();
    });

    // Each worker's request went around twice.
    EXPECT_EQ(num_answers, numbers(num_answers.size(), 2 * num_all));
    EXPECT_EQ(num_replies, num_answers);
    stream.close();
}

TEST_P(RequestStream, RefusesToAskWhomThereIsNotAndGoesOn) {
    numbers replies;
    stream_type stream(
        where,
        [](port_type&, std::span<const std::uint32_t> keys, std::span<std::uint64_t> values) {
            std::copy(keys.begin(), keys.end(), values.begin());
        },
        [&](port_type&, std::span<const std::uint64_t> contexts,
            std::span<const std::uint64_t> values) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                replies.push_back(10 * contexts[i] + values[i]);
            }
        },
        options());
    for (const worker_id to : {worker_id{num_ranks(), 0}, {-1, 0}, {0, options().workers}, {0, -1}})
        EXPECT_EQ(test::code_of([&] { stream.port().request(to, 0, 0); }), errc::rank_out_of_range);
    test::on_workers(options().workers, [&](int w) {
        if (w == 0) stream.port().request(where.rank(), 4, 3);
        stream.port(w).drain().wait();
    });

    EXPECT_EQ(replies, numbers{34});
    stream.close();
}

TEST(RequestStreamOptions, HaveNoLanes) {
    context where = test::world();
    EXPECT_EQ(test::code_of([&] {
                  request_stream<int, int>(
                      where, [](auto&, auto, auto) {}, [](auto&, auto, auto) {}, {.priorities = 2});
              }),
              errc::invalid_argument);
    where.close();
}

// Types whose sizes are no multiple of 4, and a context that is a struct.
TEST(RequestStreamTypes, MayHaveAnySize) {
    struct odd {
        std::array<char, 3> letters;
    };
    struct endpoint {
        int row;
        double column;
    };
    context where = test::world();
    for (const auto scheme : {stream_scheme::ww, stream_scheme::pp}) {
        count_t num_right = 0;
        using stream_type = request_stream<odd, std::array<char, 7>, endpoint>;
        stream_type stream(
            where,
            [](auto&, std::span<const odd> words, std::span<std::array<char, 7>> replies) {
                for (std::size_t i = 0; i < words.size(); ++i) {
                    const auto [a, b, c] = words[i].letters;
                    replies[i] = {a, b, c, '-', c, b, a};
                }
            },
            [&](auto&, std::span<const endpoint> contexts,
                std::span<const std::array<char, 7>> replies) {
                for (std::size_t i = 0; i < replies.size(); ++i) {
                    const auto digit = static_cast<char>('0' + contexts[i].row);
                    const std::array<char, 7> expected{'a', digit, 'b', '-', 'b', digit, 'a'};
                    num_right += replies[i] == expected && contexts[i].column == 0.5 ? 1 : 0;
                }
            },
            {.scheme = scheme, .buffer_items = 3});

        for (int row = 0; row < 10; ++row) {
            const odd word{{'a', static_cast<char>('0' + row), 'b'}};
            for (rank_t to = 0; to < where.num_ranks(); ++to) {
                stream.port().request(to, word, {row, 0.5});
            }
        }
        stream.port().drain().wait();

        EXPECT_EQ(num_right, 10 * where.num_ranks());
        stream.close();
    }
    where.close();
}

}  // namespace
}  // namespace crossdock::request_stream_test
