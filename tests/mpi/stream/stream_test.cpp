#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "crossdock/stream.hpp"
#include "src/stream/scheme.hpp"
#include "stream/workers.hpp"

namespace crossdock::stream_test {
namespace {

using numbers = std::vector<std::int64_t>;

using test::code_of;

template <class Port>
void drain(Port& port) {
    port.drain().wait();
}

class Stream : public testing::Test {
  protected:
    void TearDown() override { where.close(); }

    rank_t num_ranks() const { return where.num_ranks(); }
    rank_t last_rank() const { return where.num_ranks() - 1; }
    rank_t next_rank() const { return (where.rank() + 1) % where.num_ranks(); }

    context where = test::world();
};

class StreamWays : public test::StreamWays {
  protected:
    rank_t last_rank() const { return num_ranks() - 1; }
    rank_t next_rank() const { return (where.rank() + 1) % num_ranks(); }
};

INSTANTIATE_TEST_SUITE_P(Ways, StreamWays, testing::ValuesIn(test::stream_cases()),
                         [](const auto& tested) { return tested.param.name; });

// Any worker can compute what any other one pushes.
numbers destinations_of(std::int64_t worker, int phase, std::int64_t num_all) {
    std::mt19937_64 random(static_cast<std::uint64_t>(1000 * phase + worker));
    numbers to(static_cast<std::size_t>(100 + 10 * worker));
    for (auto& number : to) number = static_cast<std::int64_t>(random()) & 0xFFFFFF;
    for (auto& number : to) number %= number % 3 == 0 ? 1 : num_all;  // many to worker 0
    return to;
}

TEST_P(StreamWays, DeliverEachItemOnce) {
    std::vector<numbers> handled(static_cast<std::size_t>(options().workers));
    const auto item = [](std::int64_t worker, std::size_t i) {
        return 10000 * worker + static_cast<std::int64_t>(i);
    };
    stream<std::int64_t> items(
        where,
        [&](auto& port, const auto& batch) {
            numbers& own = handled[static_cast<std::size_t>(port.id().worker)];
            own.insert(own.end(), batch.begin(), batch.end());
        },
        options());

    for (int phase = 0; phase < 2; ++phase) {
        for (numbers& own : handled) own.clear();
        test::on_workers(options().workers, [&](int w) {
            auto& port = items.port(w);
            const auto own = number_of(port.id());
            const numbers to = destinations_of(own, phase, num_all_workers());
            for (std::size_t i = 0; i < to.size(); ++i) {
                port.push(worker_of(to[i]), item(own, i));
                if (i % 32 == 0) port.progress();
            }
            drain(port);
        });

        std::vector<numbers> expected(handled.size());
        for (std::int64_t from = 0; from < num_all_workers(); ++from) {
            const numbers to = destinations_of(from, phase, num_all_workers());
            for (std::size_t i = 0; i < to.size(); ++i) {
                const worker_id id = worker_of(to[i]);
                if (id.rank != where.rank()) continue;
                expected[static_cast<std::size_t>(id.worker)].push_back(item(from, i));
            }
        }
        for (numbers& own : handled) std::sort(own.begin(), own.end());
        EXPECT_EQ(handled, expected) << "in phase " << phase;
    }
    const stream_statistics all = items.statistics();
    EXPECT_EQ(all.combined, 0);
    EXPECT_EQ(
        std::accumulate(all.messages_by_cause.begin(), all.messages_by_cause.end(), count_t{0}),
        all.messages);
    items.close();
}

// Each item is pushed on to a worker that it determines, until it has made its steps.
TEST_P(StreamWays, ComeToRestWhenNoHandlerPushesMore) {
    struct walker {
        std::uint32_t steps_left;
        std::uint32_t state;
    };
    numbers num_handled(static_cast<std::size_t>(options().workers));
    stream<walker> walkers(
        where,
        [&](auto& port, const auto& batch) {
            num_handled[static_cast<std::size_t>(port.id().worker)] +=
                static_cast<std::int64_t>(batch.size());
            for (walker w : batch) {
                if (w.steps_left == 0) continue;
                --w.steps_left;
                w.state = w.state * 1664525 + 1013904223;
                port.push(worker_of((w.state >> 8) % num_all_workers()), w);
            }
        },
        options());

    for (std::int64_t phase = 1; phase <= 2; ++phase) {
        test::on_workers(options().workers, [&](int w) {
            auto& port = walkers.port(w);
            for (std::uint32_t i = 0; i < 10; ++i) port.push(port.id(), {9, i});
            drain(port);
        });

        std::int64_t sum = std::accumulate(num_handled.begin(), num_handled.end(), std::int64_t{0});
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(sum, phase * 100 * num_all_workers());
    }
    walkers.close();
}

TEST_P(StreamWays, CombineItemsOfOneKey) {
    struct entry {
        std::uint32_t key;
        std::int64_t sum;
        std::int64_t least;
    };
    constexpr std::int64_t num_keys = 20;
    const auto key_of = [](const entry& e) { return e.key; };
    const auto combine = [](entry& into, const entry& e) {
        into.sum += e.sum;
        into.least = std::min(into.least, e.least);
    };
    const auto owner = [&](std::int64_t key) { return worker_of(key % num_all_workers()); };
    numbers sums(num_keys);
    numbers least(num_keys, std::numeric_limits<std::int64_t>::max());
    const auto handle = [&](auto& port, const stream_batch<entry>& batch) {
        for (const entry& e : batch) {
            ASSERT_EQ(port.id(), owner(e.key));
            sums[e.key] += e.sum;
            least[e.key] = std::min(least[e.key], e.least);
        }
    };
    stream<entry, combine_by_key<decltype(key_of), decltype(combine)>> entries(
        where, handle, options(), {key_of, combine});

    test::on_workers(options().workers, [&](int w) {
        auto& port = entries.port(w);
        for (std::int64_t i = 0; i < 50 * num_keys; ++i) {
            const std::int64_t key = i * 7 % num_keys;
            const std::int64_t value = (i * 131 + number_of(port.id())) % 1009;
            port.push(owner(key), {static_cast<std::uint32_t>(key), value, value});
        }
        drain(port);
    });

    for (std::int64_t key = 0; key < num_keys; ++key) {
        std::int64_t sum = 0;
        std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
        for (std::int64_t from = 0; from < num_all_workers(); ++from) {
            for (std::int64_t i = 0; i < 50 * num_keys; ++i) {
                if (i * 7 % num_keys != key) continue;
                sum += (i * 131 + from) % 1009;
                smallest = std::min(smallest, (i * 131 + from) % 1009);
            }
        }
        const auto endpoint = static_cast<std::size_t>(key);
        const bool is_own = owner(key).rank == where.rank();
        EXPECT_EQ(sums[endpoint], is_own ? sum : 0);
        if (is_own) {
            EXPECT_EQ(least[endpoint], smallest);
        }
    }
    EXPECT_EQ(entries.statistics().items, 50 * num_keys * options().workers);
    entries.close();
}

TEST_P(StreamWays, TakeCombinedItemsToBeOfWhomTheOthersHaveJoined) {
    struct entry {
        std::int64_t key;
        std::int64_t pusher;  // of the item that others have joined
        std::int64_t count;
    };
    const auto key_of = [](const entry& e) { return static_cast<std::uint64_t>(e.key); };
    const auto combine = [](entry& into, const entry& e) { into.count += e.count; };
    stream_options with_source = options();
    with_source.with_source = true;
    numbers counts(static_cast<std::size_t>(options().workers));
    stream<entry, combine_by_key<decltype(key_of), decltype(combine)>> entries(
        where,
        [&](auto& port, const stream_batch<entry>& batch) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                ASSERT_EQ(number_of(batch.source(i)), batch[i].pusher);
                counts[static_cast<std::size_t>(port.id().worker)] += batch[i].count;
            }
        },
        with_source, {key_of, combine});

    test::on_workers(options().workers, [&](int w) {
        auto& port = entries.port(w);
        for (std::int64_t i = 0; i < 20 * num_all_workers(); ++i) {
            const std::int64_t key = i / 20;
            port.push(worker_of(key), {key, number_of(port.id()), 1});
        }
        drain(port);
    });

    EXPECT_EQ(counts, numbers(counts.size(), 20 * num_all_workers()));
    EXPECT_GT(entries.statistics().combined, 0);
    entries.close();
}

TEST_P(StreamWays, CarryItemsOfAnySize) {
    stream_options in_bytes = options();
    in_bytes.buffer_items = 200;
    in_bytes.with_source = true;
    const auto text = [](std::int64_t from, std::int64_t i) {
        return std::string(static_cast<std::size_t>(i * 13 % 90), static_cast<char>('a' + i % 26)) +
               std::to_string(from);
    };
    std::vector<std::vector<std::string>> handled(static_cast<std::size_t>(options().workers));
    stream<std::string> texts(
        where,
        [&](auto& port, const auto& batch) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const std::string from = std::to_string(number_of(batch.source(i)));
                ASSERT_TRUE(batch[i].ends_with(from)) << batch[i] << " from " << from;
                handled[static_cast<std::size_t>(port.id().worker)].push_back(batch[i]);
            }
        },
        in_bytes);

    test::on_workers(options().workers, [&](int w) {
        auto& port = texts.port(w);
        for (std::int64_t i = 0; i < 30 * num_all_workers(); ++i) {
            port.push(worker_of(i % num_all_workers()), text(number_of(port.id()), i));
        }
        EXPECT_EQ(code_of([&] { port.push(port.id(), std::string(201, 'x')); }),
                  errc::size_mismatch);
        drain(port);
    });

    for (int w = 0; w < options().workers; ++w) {
        std::vector<std::string> expected;
        const std::int64_t own = number_of({where.rank(), w});
        for (std::int64_t from = 0; from < num_all_workers(); ++from) {
            for (std::int64_t i = own; i < 30 * num_all_workers(); i += num_all_workers()) {
                expected.push_back(text(from, i));
            }
        }
        auto& actual = handled[static_cast<std::size_t>(w)];
        std::sort(expected.begin(), expected.end());
        std::sort(actual.begin(), actual.end());
        EXPECT_EQ(actual, expected);
    }
    texts.close();
}

TEST_P(StreamWays, NeverSendByMpiInsideAProcess) {
    numbers num_items(static_cast<std::size_t>(options().workers));
    stream<int> items(
        where,
        [&](auto& port, const auto& batch) {
            num_items[static_cast<std::size_t>(port.id().worker)] +=
                static_cast<std::int64_t>(batch.size());
        },
        options());

    test::on_workers(options().workers, [&](int w) {
        for (int i = 0; i < 100; ++i) {
            for (int to = 0; to < options().workers; ++to) {
                items.port(w).push({where.rank(), to}, i);
            }
        }
        drain(items.port(w));
    });

    EXPECT_EQ(num_items, numbers(num_items.size(), 100 * options().workers));
    EXPECT_EQ(items.statistics().mpi_messages, 0);
    EXPECT_EQ(items.statistics().mpi_bytes, 0);
    items.close();
}

TEST_P(StreamWays, EndOnAllWorkersWithTheErrorOfAHandler) {
    stream<int> items(
        where,
        [&](auto& port, const auto&) {
            if (port.id() == worker_id{last_rank(), 0}) throw std::range_error("too bad");
        },
        options());

    test::on_workers(options().workers, [&](int w) {
        auto& port = items.port(w);
        const auto push = [&] { port.push(last_rank(), 1); };
        if (port.id() == worker_id{0, 0}) push();
        auto rest = port.drain();
        if (port.id() == worker_id{last_rank(), 0}) {
            EXPECT_THROW(rest.wait(), std::range_error);
        } else {
            try {
                rest.wait();
                ADD_FAILURE() << "came to rest";
            } catch (const error& fault) {
                EXPECT_EQ(fault.code(), errc::handler_failed);
                EXPECT_EQ(fault.rank(), last_rank());
            }
        }
        EXPECT_EQ(code_of(push), errc::handler_failed);
    });
    items.close();
    EXPECT_FALSE(items.is_open());
}

TEST_P(StreamWays, RefuseWorkersThereAreNot) {
    stream<int> items(
        where, [](auto&, const auto&) {}, options());
    auto& port = items.port();

    for (const worker_id to :
         {worker_id{-1, 0}, {num_ranks(), 0}, {0, -1}, {0, options().workers}}) {
        EXPECT_EQ(code_of([&] { port.push(to, 1); }), errc::rank_out_of_range);
        EXPECT_EQ(code_of([&] { return port.try_push(to, 1); }), errc::rank_out_of_range);
        EXPECT_EQ(code_of([&] { port.flush(to); }), errc::rank_out_of_range);
    }
    EXPECT_EQ(code_of([&] { items.port(options().workers); }), errc::index_out_of_range);
    EXPECT_EQ(code_of([&] { items.port(-1); }), errc::index_out_of_range);
    EXPECT_EQ(items.statistics().items, 0);
    items.close();
}

TEST_P(StreamWays, TellTheirStatisticsAfterTheyAreClosed) {
    stream<int> items(
        where, [](auto&, const auto&) {}, options());
    test::on_workers(options().workers, [&](int w) {
        for (int i = 0; i < 20; ++i) items.port(w).push(next_rank(), i);
        drain(items.port(w));
    });
    const auto all = items.statistics();
    const auto first = items.port().statistics();
    items.close();

    EXPECT_EQ(items.statistics().peak_buffers, all.peak_buffers);
    EXPECT_EQ(items.statistics().items, 20 * options().workers);
    EXPECT_EQ(items.port().statistics().peak_buffers, first.peak_buffers);
    EXPECT_EQ(items.port().statistics().items, 20);
}

// Schemes that keep order.
class OrderedStream : public StreamWays {};

std::vector<test::stream_case> ordered_cases() {
    std::vector<test::stream_case> cases;
    for (const auto& one : test::stream_cases()) {
        const auto scheme = one.options.scheme;
        if (one.options.route != "auto" || fills_together(scheme) ||
            scheme == stream_scheme::automatic) {
            continue;
        }
        for (const char* route : {"auto", "grid:1"}) {  // all of one stage
            cases.push_back(one);
            if (route != one.options.route) cases.back().name += "_grid1";
            cases.back().options.route = route;
            cases.back().options.ordered = true;
            cases.back().options.with_source = true;
        }
    }
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Ways, OrderedStream, testing::ValuesIn(ordered_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(OrderedStream, HandlesItemsOfOnePortInTheOrderOfItsPushes) {
    const auto num_all = static_cast<std::size_t>(num_all_workers());
    std::vector<numbers> next(static_cast<std::size_t>(options().workers), numbers(num_all));
    stream<std::int64_t> items(
        where,
        [&](auto& port, const auto& batch) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const auto source = static_cast<std::size_t>(number_of(batch.source(i)));
                ASSERT_EQ(batch[i], next[static_cast<std::size_t>(port.id().worker)][source]++);
            }
        },
        options());

    test::on_workers(options().workers, [&](int w) {
        auto& port = items.port(w);
        for (std::int64_t i = 0; i < 300; ++i) {
            for (std::int64_t to = 0; to < num_all_workers(); ++to) port.push(worker_of(to), i);
            if (i % 50 == 0) port.flush();
        }
        drain(port);
    });

    EXPECT_EQ(next, std::vector<numbers>(next.size(), numbers(num_all, 300)));
    items.close();
}

TEST_F(Stream, SendsAsFewMessagesAsTheSchemePromisesWhereMpiIsAllThereIs) {
    if (!test::has_threads()) GTEST_SKIP() << "MPI has no threads";
    constexpr int workers = 2, num_items = 304;
    constexpr count_t buffer_items = 8;
    for (const auto scheme :
         {stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp, stream_scheme::pp}) {
        stream<int> items(where, [](auto&, const auto&) {},
                          {.workers = workers,
                           .scheme = scheme,
                           .buffer_items = buffer_items,
                           .max_buffers = 1000,
                           .flush_on_idle = false,
                           .shared_memory = false});
        test::on_workers(workers, [&](int w) {
            for (int i = 0; i < num_items; ++i) items.port(w).push({next_rank(), 1}, i);
            drain(items.port(w));
        });
        const auto all = items.statistics();
        items.close();

        EXPECT_EQ(all.messages, workers * num_items / buffer_items) << to_string(scheme);
        EXPECT_EQ(all.mpi_messages, num_ranks() == 1 ? 0 : all.messages) << to_string(scheme);
    }
}

TEST_F(Stream, EndsWithEachHandlersErrorAtItsOwnPortAndTheHighestRankAtOthers) {
    if (num_ranks() == 1) GTEST_SKIP() << "needs two ranks whose handlers throw";
    bool has_thrown = false;
    stream<int> items(where, [&](auto& port, const auto&) {
        has_thrown = true;
        throw std::range_error("of rank " + std::to_string(port.id().rank));
    });
    auto& port = items.port();
    const bool is_to_throw = where.rank() == 0 || where.rank() == last_rank();
    if (is_to_throw) {
        port.push(where.rank(), 1);
        port.flush();
        while (!has_thrown) port.progress();
    }
    MPI_Barrier(MPI_COMM_WORLD);  // nobody knows of another one's error before it drains

    auto rest = port.drain();
    try {
        rest.wait();
        ADD_FAILURE() << "came to rest";
    } catch (const std::range_error& own) {
        EXPECT_TRUE(is_to_throw);
        EXPECT_EQ(own.what(), "of rank " + std::to_string(where.rank()));
    } catch (const error& fault) {
        EXPECT_FALSE(is_to_throw);
        EXPECT_EQ(fault.code(), errc::handler_failed);
        EXPECT_EQ(fault.rank(), last_rank());
    }
    try {
        port.push(where.rank(), 1);
        ADD_FAILURE() << "has pushed";
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::handler_failed);
        EXPECT_EQ(fault.rank(), last_rank());
    }
    items.close();
}

// 16 bytes, and whole groups of 8.
TEST_F(Stream, TakesSixteenBytesOfABufferForAnItemWithACodecBesideItsOwn) {
    std::vector<std::size_t> sizes;
    stream<std::string> texts(where,
                              [&](auto&, const auto& batch) {
                                  for (const std::string& text : batch)
                                      sizes.push_back(text.size());
                              },
                              {.buffer_items = 200, .ordered = true});
    auto& port = texts.port();
    const auto push = [&](std::size_t size) { port.push(next_rank(), std::string(size, 'x')); };

    EXPECT_EQ(code_of([&] { push(185); }), errc::size_mismatch);
    push(184);
    EXPECT_EQ(port.statistics().messages_of(flush_cause::full), 1);
    push(89);  // as much as 96: with the other 16 all but 88
    push(73);  // as much as 80: 8 too many
    EXPECT_EQ(port.statistics().messages_of(flush_cause::full), 2);
    push(88);
    EXPECT_EQ(port.statistics().messages_of(flush_cause::full), 3);
    drain(port);

    EXPECT_EQ(sizes, (std::vector<std::size_t>{184, 89, 73, 88}));
    texts.close();
}

// A port has no memory for the bytes of items yet when an empty one comes first.
TEST_F(Stream, CarriesVectorsAndEmptyItemsFirst) {
    std::vector<std::vector<int>> handled;
    std::vector<std::string> texts;
    const auto into = [](auto& all) {
        return
            [&all](auto&, const auto& batch) { all.insert(all.end(), batch.begin(), batch.end()); };
    };
    stream<std::vector<int>> lists(where, into(handled));
    stream<std::string> strings(where, into(texts));

    const std::vector<std::vector<int>> sent{{}, {1}, {1, 2}, {}};
    for (const auto& list : sent) lists.port().push(next_rank(), list);
    for (const char* text : {"", "ab", ""}) strings.port().push(next_rank(), text);
    drain(lists.port());
    drain(strings.port());

    EXPECT_EQ(handled, sent);
    EXPECT_EQ(texts, (std::vector<std::string>{"", "ab", ""}));
    lists.close();
    strings.close();
}

TEST_F(Stream, HasNoUrgentItemsInOnePriority) {
    stream<int> items(where, [](auto&, const auto&) {});

    EXPECT_EQ(code_of([&] { items.port().push_urgent({0, 0}, 1); }), errc::invalid_argument);
    items.close();
}

// To itself, so that nobody takes what it pushed.
TEST_F(Stream, SaysWhenAPushWouldWait) {
    count_t num_handled = 0;
    stream<int> items(
        where, [&](auto&, const auto& batch) { num_handled += static_cast<count_t>(batch.size()); },
        {.buffer_items = 8, .max_buffers = 3, .pressure = back_pressure::fail});
    auto& port = items.port();

    count_t num_pushed = 0;
    while (port.try_push({where.rank(), 0}, 1)) ++num_pushed;
    EXPECT_EQ(num_pushed, 24);
    EXPECT_EQ(code_of([&] { port.push(where.rank(), 1); }), errc::invalid_state);
    EXPECT_EQ(num_handled, 0);

    EXPECT_EQ(port.progress(), 24);
    EXPECT_TRUE(port.try_push({where.rank(), 0}, 1));
    drain(port);
    EXPECT_EQ(num_handled, 25);
    EXPECT_EQ(port.statistics().items, 25);
    EXPECT_EQ(port.statistics().waits, 0);
    items.close();
}

// All others push 10 times the bound to rank 0, which handles nothing while they can push. Buffers of one item are so
// short that MPI sends them at once, up to 16 for each buffer of their sender. Rank 0 has receives for 32.
TEST_F(Stream, HoldsABoundedNumberOfItemsForASlowReceiver) {
    constexpr count_t max_buffers = 4;
    for (const bool shares : {true, false}) {
        count_t num_handled = 0;
        stream<int> items(
            where,
            [&](auto&, const auto& batch) { num_handled += static_cast<count_t>(batch.size()); },
            {.scheme = stream_scheme::ww,
             .buffer_items = 1,
             .max_buffers = static_cast<int>(max_buffers),
             .pressure = back_pressure::fail,
             .shared_memory = shares});
        auto& port = items.port();
        const count_t all = where.rank() == 0 ? 0 : 10 * (32 + 16 * max_buffers);

        count_t num_held = 0;
        while (num_held < all && port.try_push({0, 0}, 1)) ++num_held;
        for (int i = 0; i < 1000 && num_held < all; ++i) {
            if (port.try_push({0, 0}, 1)) ++num_held;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        count_t num_held_by_all = num_held;
        MPI_Allreduce(MPI_IN_PLACE, &num_held_by_all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        const count_t num_senders = num_ranks() - 1;
        if (shares) {
            EXPECT_EQ(num_held, all == 0 ? 0 : max_buffers);
        } else {
            EXPECT_GE(num_held, all == 0 ? 0 : max_buffers);
            EXPECT_LE(num_held_by_all, num_senders == 0 ? 0 : 32 + num_senders * 16 * max_buffers);
        }

        for (count_t num_pushed = num_held; num_pushed < all;) {
            if (port.try_push({0, 0}, 1))
                ++num_pushed;
            else
                port.progress();
        }
        drain(port);
        EXPECT_EQ(num_handled, where.rank() == 0 ? num_senders * 10 * (32 + 16 * max_buffers) : 0);
        EXPECT_EQ(port.statistics().overflow_buffers, 0);
        EXPECT_LE(port.statistics().peak_buffers, max_buffers);
        items.close();
    }
}

TEST_F(Stream, OnlyHandlesInAPushIfThatIsWanted) {
    for (const auto pressure : {back_pressure::progress, back_pressure::block}) {
        bool is_pushing = false;
        count_t in_pushes = 0, num_handled = 0;
        stream<std::int64_t> items(where,
                                   [&](auto&, const auto& batch) {
                                       num_handled += static_cast<count_t>(batch.size());
                                       if (is_pushing) ++in_pushes;
                                   },
                                   {.buffer_items = 4, .max_buffers = 2, .pressure = pressure});
        auto& port = items.port();

        is_pushing = true;
        for (int i = 0; i < 1000; ++i) port.push(i % num_ranks(), i);
        is_pushing = false;
        drain(port);

        MPI_Allreduce(MPI_IN_PLACE, &num_handled, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(num_handled, 1000 * num_ranks());
        if (pressure == back_pressure::block) {
            EXPECT_EQ(in_pushes, 0);
            EXPECT_GT(port.statistics().waits, 0);
        } else if (num_ranks() == 1) {
            EXPECT_GT(in_pushes, 0);
        }
        items.close();
    }
}

TEST_F(Stream, KeepsToItsStates) {
    errc in_handler = errc::success;
    errc drain_in_handler = errc::success;
    stream<int> items(where, [&](auto& port, const auto&) {
        in_handler = code_of([&] { port.progress(); });
        drain_in_handler = code_of([&] { return port.drain(); });
    });
    auto& port = items.port();
    port.push(where.rank(), 1);
    EXPECT_EQ(code_of([&] { items.close(); }), errc::invalid_state);
    EXPECT_TRUE(items.is_open());

    auto rest = port.drain();
    EXPECT_EQ(code_of([&] { port.push(where.rank(), 1); }), errc::invalid_state);
    EXPECT_EQ(code_of([&] { return port.drain(); }), errc::invalid_state);
    rest.wait();
    EXPECT_TRUE(rest.test());
    EXPECT_EQ(in_handler, errc::invalid_state);
    EXPECT_EQ(drain_in_handler, errc::invalid_state);

    port.push(where.rank(), 1);
    drain(port);
    EXPECT_EQ(port.statistics().handled, 2);
    items.close();
    EXPECT_FALSE(items.is_open());
    EXPECT_EQ(code_of([&] { port.push(where.rank(), 1); }), errc::invalid_state);
    EXPECT_EQ(code_of([&] { return port.drain(); }), errc::invalid_state);
    EXPECT_EQ(port.statistics().handled, 2);
}

// Even ranks wait for the first stream first, odd ones for the second.
TEST_F(Stream, DrainsThatAllHaveBegunEndInAnyOrder) {
    std::vector<numbers> came(2);
    const auto into = [](numbers& all) {
        return
            [&all](auto&, const auto& batch) { all.insert(all.end(), batch.begin(), batch.end()); };
    };
    stream<std::int64_t> first(where, into(came[0])), second(where, into(came[1]));
    for (std::int64_t phase = 0; phase < 3; ++phase) {
        for (rank_t to = 0; to < num_ranks(); ++to) {
            first.port().push(to, phase);
            second.port().push(to, -phase);
        }
        stream_drain drains[] = {first.port().drain(), second.port().drain()};
        const int earlier = where.rank() % 2;
        drains[earlier].wait();
        drains[1 - earlier].wait();
        EXPECT_EQ(came[0], numbers(static_cast<std::size_t>(num_ranks()), phase));
        EXPECT_EQ(came[1], numbers(static_cast<std::size_t>(num_ranks()), -phase));
        for (auto& one : came) one.clear();
    }
    first.close();
    second.close();
}

TEST_F(Stream, KeepsItsContextOpenUntilItIsDrained) {
    stream<int> items(where, [](auto&, const auto&) {});
    auto& port = items.port();
    if (where.rank() == last_rank()) port.push(where.rank(), 1);
    EXPECT_EQ(code_of([&] { where.close(); }), errc::invalid_state);
    EXPECT_TRUE(where.is_open());
    drain(port);
    where.close();
    EXPECT_FALSE(items.is_open());
    const auto expect_refused = [](const auto& call) {
        EXPECT_EQ(code_of(call), errc::invalid_state);
    };
    expect_refused([&] { port.push(0, 1); });
    expect_refused([&] { return port.try_push({0, 0}, 1); });
    expect_refused([&] { port.progress(); });
    expect_refused([&] { port.flush(); });
    expect_refused([&] { port.flush({0, 0}); });
    expect_refused([&] { port.set_buffer_items({0, 0}, 1); });
    expect_refused([&] { drain(port); });
    expect_refused([&] { items.drive(); });
    expect_refused([&] { stream<int>(where, [](auto&, const auto&) {}); });
    EXPECT_EQ(port.statistics().handled, where.rank() == last_rank() ? 1 : 0);
    items.close();
    items.close();
    expect_refused([&] { items.port().push(0, 1); });
}

TEST_F(Stream, SendsByAgeIfAsked) {
    count_t num_handled = 0;
    stream<int> items(where, [&](auto&, const auto&) { ++num_handled; },
                      {.flush_on_idle = false, .max_age_seconds = 1e-6});
    items.port().push(where.rank(), 1);
    while (num_handled == 0) items.port().progress();
    EXPECT_EQ(items.statistics().messages_of(flush_cause::age), 1);
    drain(items.port());
    items.close();
}

TEST_F(Stream, HandlesNothingWhileAnotherOneIsWaitedFor) {
    int num_handled = 0;
    stream<int> others(where, [](auto&, const auto&) {});
    stream<int> items(where, [&](auto&, const auto&) { ++num_handled; });
    items.port().push(next_rank(), 1);
    items.port().flush();
    others.port().push(next_rank(), 1);
    drain(others.port());

    EXPECT_EQ(num_handled, 0);
    drain(items.port());
    EXPECT_EQ(num_handled, 1);
    others.close();
    items.close();
}

// Every rank begins with another one. Each item is pushed on, so that all handlers are needed to
// the end.
TEST_F(Stream, ComesToRestWhereDrainsOfSeveralAreTestedInTurn) {
    std::vector<std::unique_ptr<stream<int>>> both;
    numbers num_handled(2);
    for (std::size_t s = 0; s < 2; ++s) {
        both.push_back(std::make_unique<stream<int>>(
            where,
            [this, &num_handled, s](auto& port, const auto& batch) {
                for (const int steps : batch) {
                    ++num_handled[s];
                    if (steps > 0) port.push(next_rank(), steps - 1);
                }
            },
            stream_options{.buffer_items = 1, .max_buffers = 100, .shared_memory = s == 0}));
    }
    const auto first = static_cast<std::size_t>(where.rank() % 2);
    for (int k = 0; k < 50; ++k) both[first]->port().push(next_rank(), 9);
    auto rest = both[first]->port().drain();
    for (int k = 0; k < 50; ++k) both[1 - first]->port().push(next_rank(), 9);
    auto other_rest = both[1 - first]->port().drain();
    for (bool are_at_rest = false; !are_at_rest; std::this_thread::yield()) {
        const bool is_first = rest.test();
        are_at_rest = other_rest.test() && is_first;
    }

    EXPECT_EQ(num_handled, numbers(2, 500));
    for (auto& one : both) one->close();
}

TEST_F(Stream, RunsOnPartsOfAllRanks) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, where.rank() % 2, -where.rank(), &half);
    context part = test::one_region(communicator(half));
    MPI_Comm_free(&half);
    count_t num_handled = 0;
    stream<rank_t> items(part, [&](auto&, const auto& batch) {
        for (const rank_t from : batch) num_handled += from % 2 == where.rank() % 2 ? 1 : 1000;
    });

    for (int i = 0; i < 50; ++i) {
        for (rank_t to = 0; to < part.num_ranks(); ++to) items.port().push(to, where.rank());
    }
    drain(items.port());

    EXPECT_EQ(num_handled, 50 * part.num_ranks());
    items.close();
    part.close();
}

TEST_F(Stream, IsUnseenByTheUsersReceives) {
    stream<int> items(where, [](auto&, const auto&) {},
                      {.buffer_items = 4, .shared_memory = false});
    const auto sees_message = [] {
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        return is_there != 0;
    };

    int num_seen = 0;
    for (int i = 0; i < 200; ++i) {
        items.port().push(i % num_ranks(), i);
        num_seen += sees_message() ? 1 : 0;
    }
    auto rest = items.port().drain();
    while (!rest.test()) num_seen += sees_message() ? 1 : 0;

    EXPECT_EQ(num_seen, 0);
    items.close();
}

}  // namespace
}  // namespace crossdock::stream_test
