// What is wrong on one rank must be told to all, whatever carries the batch, and must change nothing.
#include <fmt/format.h>

#include <functional>
#include <limits>
#include <new>
#include <stdexcept>

#include "array/variants.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::array_faults_test {
namespace {

using test::array_variant;
using test::few_variants;
using test::few_variants_of_any_operation;
using test::read_all;
using test::thrown_by;

using indices = std::vector<count_t>;
using values = std::vector<int>;
using int_array = distributed_array<int>;

constexpr count_t num_entries = 11;

class ArrayFaults : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    // Entry i is 100 + i.
    static void fill(int_array& a) {
        for (std::size_t k = 0; k < a.local().size(); ++k)
            a.local()[k] = 100 + static_cast<int>(a.first_index() + static_cast<count_t>(k));
    }

    static values filled() {
        values result;
        for (int i = 0; i < num_entries; ++i) result.push_back(100 + i);
        return result;
    }

    void expect_unchanged_and_usable(int_array& a) const {
        ASSERT_EQ(read_all(a), filled());
        a.update(indices{4, 4}, values{1, 2}, sum());
        auto expected = filled();
        expected[4] += 3 * num_ranks;
        ASSERT_EQ(read_all(a), expected);
        fill(a);
    }

    // `bad` is called by one rank, `good` by the others; `text(rank)` is what all must hear of it.
    void expect_heard_by_all(int_array& a, errc code,
                             const std::function<std::string(rank_t)>& text,
                             const std::function<void()>& bad, const std::function<void()>& good) {
        for (const rank_t faulty : {0, num_ranks / 2, num_ranks - 1}) {
            SCOPED_TRACE(faulty);
            fill(a);
            const error heard = thrown_by([&] { rank == faulty ? bad() : good(); });
            EXPECT_EQ(heard.code(), code);
            EXPECT_EQ(heard.rank(), faulty);
            EXPECT_EQ(heard.what(), text(faulty));
            expect_unchanged_and_usable(a);
        }
    }

    template <class Use>
    void with_arrays(const std::vector<array_variant>& variants, Use&& use) {
        for (const auto& variant : variants) {
            SCOPED_TRACE(variant.name);
            int_array a(variant.where(comm), num_entries, variant.options<int>());
            use(a);
            a.close();
        }
    }

    // What making an array throws; the communicator stays usable.
    template <class Make>
    error refused(Make&& make) {
        const error heard = thrown_by(make);
        int_array a(where, num_entries);
        fill(a);
        expect_unchanged_and_usable(a);
        a.close();
        return heard;
    }

    communicator comm{MPI_COMM_WORLD};
    const context where = test::one_region(comm);
    const rank_t rank = comm.rank();
    const rank_t num_ranks = comm.num_ranks();
    const rank_t last_rank = num_ranks - 1;
};

// Indices and lengths.

TEST_F(ArrayFaults, AnIndexOutsideIsNamedWithItsRank) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        for (const count_t bad :
             {num_entries, std::numeric_limits<count_t>::min(), (count_t{1} << 32) + 1}) {
            const auto text = [&](rank_t faulty) {
                return fmt::format("request 1 of rank {} is for index {}, outside [0, {})", faulty,
                                   bad, num_entries);
            };
            values out{-1, -1};
            expect_heard_by_all(
                a, errc::index_out_of_range, text,
                [&] {
                    a.read(indices{1, bad}, std::span(out));
                },
                [&] {
                    a.read(indices{2, 3}, std::span(out));
                });
            EXPECT_EQ(out, (values{-1, -1})) << "no output is written";
            expect_heard_by_all(
                a, errc::index_out_of_range, text,
                [&] {
                    a.write(indices{1, bad}, values{7, 8});
                },
                [&] {
                    a.write(indices{2, 3}, values{7, 8});
                });
            expect_heard_by_all(
                a, errc::index_out_of_range, text,
                [&] {
                    a.update(indices{1, bad}, values{7, 8}, sum());
                },
                [&] {
                    a.update(indices{2, 3}, values{7, 8}, sum());
                });
            expect_heard_by_all(
                a, errc::index_out_of_range, text,
                [&] {
                    static_cast<void>(a.prepare(indices{1, bad}));
                },
                [&] {
                    static_cast<void>(a.prepare(indices{2, 3}));
                });
        }
    });
}

TEST_F(ArrayFaults, AQueuedIndexOutsideIsHeardByTheStep) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        const auto text = [&](rank_t faulty) {
            return fmt::format("request 1 of rank {} is for index 11, outside [0, 11)", faulty);
        };
        int found = -1;
        const auto queue_good = [&] {
            a.write(1, 7);
            a.update(2, 8);
            a.read(3, &found);
        };
        const std::vector<std::function<void()>> queue_bad{[&] { a.write(num_entries, 7); },
                                                           [&] { a.update(num_entries, 7); },
                                                           [&] { a.read(num_entries, &found); }};
        for (const auto& queue : queue_bad) {
            expect_heard_by_all(
                a, errc::index_out_of_range, text,
                [&] {
                    queue_good();
                    queue();
                    a.step();
                },
                [&] {
                    queue_good();
                    a.step();
                });
            EXPECT_EQ(found, -1);
            a.step();
            EXPECT_EQ(found, -1) << "the queue is empty after a step that failed";
            EXPECT_EQ(read_all(a), filled());
        }
    });
}

TEST_F(ArrayFaults, LengthsThatDifferAreNamedWithTheirRank) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        const auto text = [](rank_t faulty) {
            return fmt::format("rank {} has 2 indices and 1 values; give one value for each index",
                               faulty);
        };
        values one(1), two(2);
        expect_heard_by_all(
            a, errc::size_mismatch, text,
            [&] {
                a.read(indices{1, 2}, std::span(one));
            },
            [&] {
                a.read(indices{1, 2}, std::span(two));
            });
        expect_heard_by_all(
            a, errc::size_mismatch, text,
            [&] {
                a.write(indices{1, 2}, one);
            },
            [&] {
                a.write(indices{1, 2}, two);
            });
        expect_heard_by_all(
            a, errc::size_mismatch, text,
            [&] {
                a.update(indices{1, 2}, one, sum());
            },
            [&] {
                a.update(indices{1, 2}, two, sum());
            });
    });
}

TEST_F(ArrayFaults, TheLowestOfSeveralFaultyRanksIsHeard) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        fill(a);
        const error heard = thrown_by([&] { a.write(indices{20 + rank}, values{1}); });
        EXPECT_EQ(heard.code(), errc::index_out_of_range);
        EXPECT_EQ(heard.rank(), 0);
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, OfSeveralFaultsOfARankTheFirstIsHeardLengthsThenWritesUpdatesReads) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        fill(a);
        int found = 0;
        const auto refused_index = [&](const std::function<void()>& queue) {
            queue();
            return std::string(thrown_by([&] { a.step(); }).what());
        };
        const auto text = [](count_t index) {
            return fmt::format("request 0 of rank 0 is for index {}, outside [0, 11)", index);
        };
        const auto read = [&] { a.read(32, &found); };
        const auto update = [&] { a.update(31, 1); };
        const auto write = [&] { a.write(30, 1); };

        EXPECT_EQ(refused_index([&] { read(), update(), write(); }), text(30));
        EXPECT_EQ(refused_index([&] { read(), update(); }), text(31));
        EXPECT_EQ(refused_index(read), text(32));
        const error heard = thrown_by([&] { a.write(indices{30, 31}, values{1}); });
        EXPECT_EQ(heard.code(), errc::size_mismatch);
        EXPECT_EQ(heard.rank(), 0);
        expect_unchanged_and_usable(a);
    });
}

// Ranks that want different things.

TEST_F(ArrayFaults, AFaultOfARankIsHeardRatherThanThatRanksAskForDifferentThings) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        fill(a);
        const error heard = thrown_by([&] {
            values out(1);
            rank == last_rank ? a.write(indices{30}, values{1})
                              : a.read(indices{1}, std::span(out));
        });
        EXPECT_EQ(heard.code(), errc::index_out_of_range);
        EXPECT_EQ(heard.rank(), last_rank);
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, RanksMustAskForTheSame) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        values out(1);
        const std::vector<std::function<void()>> calls{
            [&] { a.read(indices{1}, std::span(out)); },
            [&] { a.write(indices{1}, values{5}); },
            [&] { a.update(indices{1}, values{5}, sum()); },
            [&] { a.update(indices{1}, values{5}, maximum()); },
            [&] { a.step(); },
            [&] { a.step(minimum()); }};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            for (std::size_t j = 0; j < calls.size(); ++j) {
                if (i == j) continue;
                fill(a);
                const error heard = thrown_by([&] { rank == last_rank ? calls[i]() : calls[j](); });
                EXPECT_EQ(heard.code(), errc::invalid_argument);
                EXPECT_EQ(heard.rank(), last_rank);
                EXPECT_EQ(heard.what(), fmt::format("kinds of requests or operations of rank {} "
                                                    "differ from those of rank 0; give all ranks "
                                                    "the same",
                                                    last_rank));
            }
        }
        expect_unchanged_and_usable(a);
    });
}

// Who does not know what the others ask for must take the same route nevertheless.
TEST_F(ArrayFaults, RanksMustAskForTheSameOnTheRouteOfAuto) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const auto regions =
        num_ranks == 8 ? topology::from_string("4x2") : topology::one_region(num_ranks);
    for (const bool is_updated : {false, true}) {
        int_array a({comm, regions}, 10, {.expected_requests = count_t{1} << 30});
        values out(1);
        a.read(indices{1}, std::span(out));  // so few that the next batch has another route
        const error heard = thrown_by([&] {
            if (rank != last_rank) {
                a.read(indices{1}, std::span(out));
            } else if (is_updated) {
                a.update(indices{1}, values{5}, sum());
            } else {
                a.step(minimum());
            }
        });
        EXPECT_EQ(heard.code(), errc::invalid_argument);
        a.close();
    }
}

TEST_F(ArrayFaults, TwoOperationsOfTheUserAreNotTheSame) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const auto first = [](const int& a, const int& b) noexcept { return a + b; };
    const auto second = [](const int& a, const int& b) noexcept { return a + b; };
    with_arrays(few_variants_of_any_operation(num_ranks), [&](int_array& a) {
        fill(a);
        const error heard = thrown_by([&] {
            if (rank == 0) {
                a.update(indices{1}, values{5}, first);
            } else {
                a.update(indices{1}, values{5}, second);
            }
        });
        EXPECT_EQ(heard.code(), errc::invalid_argument);
        expect_unchanged_and_usable(a);
    });
}

// Operations that throw.

struct refusing_sum {
    int refused;
    int operator()(const int& a, const int& b) const {
        if (a + b == refused) throw std::runtime_error("these must not meet");
        return a + b;
    }
};

void expect_refusal(const error& heard) {
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_NE(std::string(heard.what()).find("these must not meet"), std::string::npos)
        << heard.what();
}

TEST_F(ArrayFaults, AnOperationMayThrowWhileARankCombinesItsOwn) {
    auto variants = few_variants_of_any_operation(num_ranks);
    std::erase_if(variants, [](const auto& variant) {
        return variant.transport == array_transport::plain || !variant.combine.locally ||
               variant.combine.strategy == combining::none;
    });
    ASSERT_GE(variants.size(), 2U);
    with_arrays(variants, [&](int_array& a) {
        for (const rank_t faulty : {0, num_ranks / 2, last_rank}) {
            fill(a);
            const values own = rank == faulty ? values{1, 2} : values{40, 80};
            const error heard = thrown_by([&] { a.update(indices{5, 5}, own, refusing_sum{3}); });
            expect_refusal(heard);
            EXPECT_EQ(heard.rank(), faulty);
            EXPECT_EQ(heard.what(), "an operation threw at rank " + std::to_string(faulty) +
                                        " for index 5: these must not meet");
            expect_unchanged_and_usable(a);
        }
    });
}

TEST_F(ArrayFaults, AnOperationMayThrowOnTheWay) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank meets nobody";
    for (const auto& variant : test::variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        int_array a(variant.where(comm), num_entries, variant.options<int>());
        for (const count_t index : {count_t{0}, num_entries - 1}) {
            // A rank's own values are for different entries. It throws wherever those of two ranks
            // meet: on the way, where they are combined there, else at the entry, which is negative
            // until enough came.
            const auto refuse = [](const int& x, const int& y) -> int {
                if (x > 0 && y > 0) throw std::runtime_error("these must not meet");
                return x + y;
            };
            for (auto& entry : a.local()) entry = -1;
            const error heard = thrown_by([&] {
                a.update(indices{index, (index + 1) % num_entries}, values{3, 3}, refuse);
            });
            expect_refusal(heard);
            EXPECT_GE(heard.rank(), 0);
            EXPECT_EQ(read_all(a), values(num_entries, -1));
            fill(a);
            expect_unchanged_and_usable(a);
        }
        a.close();
    }
}

TEST_F(ArrayFaults, AnOperationMayThrowAtAnOwnerAfterOthersHaveChanged) {
    with_arrays(test::few_variants_of_any_operation(num_ranks), [&](int_array& a) {
        for (const count_t bad : {count_t{0}, num_entries / 2, num_entries - 1}) {
            fill(a);
            // All entries change, and the bad one throws with what it is.
            indices all;
            for (count_t i = 0; i < num_entries; ++i) all.push_back(i);
            const int refused = 100 + static_cast<int>(bad);
            const auto op = [refused](const int& x, const int& y) {
                if (x == refused) throw std::runtime_error("these must not meet");
                return x + y;
            };
            const error heard = thrown_by([&] { a.update(all, values(num_entries, 1000), op); });
            expect_refusal(heard);
            EXPECT_EQ(heard.rank(), a.owners().owner(bad));
            EXPECT_NE(std::string(heard.what()).find(" for index " + std::to_string(bad) + ":"),
                      std::string::npos)
                << heard.what();
            expect_unchanged_and_usable(a);
        }
    });
}

TEST_F(ArrayFaults, AStepThatThrowsUndoesItsWrites) {
    with_arrays(few_variants_of_any_operation(num_ranks), [&](int_array& a) {
        fill(a);
        int found = -1;
        a.write(3, 1);
        a.write(rank % num_entries, 55);
        a.update(3, 2);
        a.read(3, &found);
        const error heard = thrown_by([&] {
            a.step([](const int& x, const int&) -> int {
                if (x >= 0) throw std::runtime_error("these must not meet");
                return x;
            });
        });
        expect_refusal(heard);
        EXPECT_EQ(found, -1);
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, AChoiceOfWritesMayThrow) {
    for (const auto& variant : test::variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        auto options = variant.options<int>(overwrite::user);
        options.choose = [](const int& x, const int& y) {
            if (x + y == 3) throw std::runtime_error("these must not meet");
            return std::max(x, y);
        };
        int_array a(variant.where(comm), num_entries, options);
        fill(a);
        // 1 of the first rank and 2 of the last meet somewhere; where there is one, both are its own.
        indices at{1};
        values what{rank == 0 ? 1 : 2};
        if (rank != 0 && rank != last_rank) at.clear(), what.clear();
        if (num_ranks == 1) at.push_back(1), what.push_back(2);
        expect_refusal(thrown_by([&] { a.write(at, what); }));
        expect_unchanged_and_usable(a);
        a.close();
    }
}

TEST_F(ArrayFaults, ErrorsOfAnOperationKeepTheirCode) {
    with_arrays(few_variants_of_any_operation(num_ranks), [&](int_array& a) {
        fill(a);
        const error heard = thrown_by([&] {
            a.update(indices{1}, values{1}, [](const int&, const int&) -> int {
                throw error(errc::parse_error, "an error of the library's kind");
            });
        });
        EXPECT_EQ(heard.code(), errc::parse_error);
        EXPECT_NE(std::string(heard.what()).find("an error of the library's kind"),
                  std::string::npos);
        expect_unchanged_and_usable(a);

        const error other = thrown_by([&] {
            a.update(indices{1}, values{1}, [](const int&, const int&) -> int { throw 3; });
        });
        EXPECT_EQ(other.code(), errc::invalid_argument);
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, AnOperationMustNotMakeRequests) {
    with_arrays(few_variants_of_any_operation(num_ranks), [&](int_array& a) {
        int found = 0;
        values out(1);
        auto p = a.prepare(indices{1});
        const std::vector<std::function<void()>> requests{
            [&] { a.read(indices{1}, std::span(out)); },
            [&] { a.write(indices{1}, values{1}); },
            [&] { a.update(indices{1}, values{1}, sum()); },
            [&] { a.read(1, &found); },
            [&] { a.write(1, 1); },
            [&] { a.update(1, 1); },
            [&] { a.step(); },
            [&] { static_cast<void>(a.prepare(indices{1})); },
            [&] { p.read(std::span(out)); },
            [&] { p.update(std::span<const int>(out), sum()); },
            [&] { p.gather(std::span<const int>(out)); },
            [&] { p.scatter(std::span<const int>(), std::span(out)); },
            [&] { p.fetch_and_update(std::span<const int>(out), std::span(out), sum()); }};
        for (const auto& request : requests) {
            fill(a);
            const error heard = thrown_by([&] {
                a.update(indices{2}, values{1}, [&](const int& x, const int&) {
                    request();
                    return x;
                });
            });
            EXPECT_EQ(heard.code(), errc::invalid_state);
            EXPECT_NE(std::string(heard.what()).find("for index 2: a request during a batch"),
                      std::string::npos)
                << heard.what();
            a.step();
            expect_unchanged_and_usable(a);
        }
    });
}

// States.

TEST_F(ArrayFaults, NoBatchMayRunWhileAPreparedOneIsActive) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        auto p = a.prepare(indices{3, 4});
        values out(2), other(1);
        const std::vector<std::function<void()>> calls{
            [&] { a.read(indices{1}, std::span(other)); }, [&] { a.write(indices{1}, values{5}); },
            [&] { a.update(indices{1}, values{5}, sum()); }, [&] { a.step(); }};
        for (const auto& call : calls) {
            fill(a);
            p.start_read(std::span(out));
            const error heard = thrown_by(call);
            EXPECT_EQ(heard.code(), errc::invalid_state);
            EXPECT_EQ(heard.rank(), 0);
            EXPECT_STREQ(heard.what(), "rank 0 has 1 active prepared batches; wait for them first");
            p.wait();
            EXPECT_EQ(out, (values{103, 104}));
            expect_unchanged_and_usable(a);
        }
    });
}

TEST_F(ArrayFaults, OneRankWithAnActiveBatchStopsAll) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        auto p = a.prepare(indices{3, 4});
        fill(a);
        values out(2);
        p.start_read(std::span(out));
        if (rank != last_rank) p.wait();
        const error heard = thrown_by([&] { a.write(indices{1}, values{5}); });
        EXPECT_EQ(heard.code(), errc::invalid_state);
        EXPECT_EQ(heard.rank(), last_rank);
        if (rank == last_rank) p.wait();
        EXPECT_EQ(out, (values{103, 104}));
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, AClosedArrayRefusesRequests) {
    with_arrays(few_variants(num_ranks), [&](int_array& a) {
        a.step();
        a.close();
        for (const auto& call : std::vector<std::function<void()>>{
                 [&] { a.write(indices{1}, values{5}); }, [&] { a.step(); },
                 [&] { static_cast<void>(a.prepare(indices{1})); }}) {
            const error heard = thrown_by(call);
            EXPECT_EQ(heard.code(), errc::invalid_state);
            EXPECT_STREQ(heard.what(), "the distributed array is closed");
        }
    });
}

// Making one.

TEST_F(ArrayFaults, UsersRuleNeedsAFunction) {
    const error heard =
        refused([&] { int_array(where, num_entries, {.equal_writes = overwrite::user}); });
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    EXPECT_STREQ(heard.what(), "overwrite::user needs a function; give the option `choose`");

    // On one rank only.
    const error one = refused([&] {
        array_options<int> options{.equal_writes = overwrite::user};
        if (rank != last_rank) options.choose = [](const int& a, const int&) { return a; };
        int_array(where, num_entries, options);
    });
    EXPECT_EQ(one.code(), errc::invalid_argument);
    EXPECT_EQ(one.rank(), last_rank);
}

TEST_F(ArrayFaults, TheLeastNeedsAnOrder) {
    const error heard = refused(
        [&] { distributed_array<test::link>(where, 4, {.equal_writes = overwrite::minimum}); });
    EXPECT_EQ(heard.code(), errc::invalid_argument);
}

TEST_F(ArrayFaults, SettingsMustNotDiffer) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const std::vector<std::function<void(array_options<int>&, topology&)>> changes{
        [&](auto& o, auto&) { o.route = "grid:2"; },
        [&](auto& o, auto&) { o.combine.strategy = combining::hash; },
        [&](auto& o, auto&) { o.combine.locally = false; },
        [&](auto& o, auto&) { o.combine.on_the_way = false; },
        [&](auto& o, auto&) { o.transport = array_transport::plain; },
        [&](auto& o, auto&) { o.transport = array_transport::rma; },
        [&](auto& o, auto&) { o.num_local = 0; },
        [&](auto& o, auto&) { o.equal_writes = overwrite::maximum; },
        [&](auto&, auto& regions) {
            regions = topology::from_string(std::to_string(num_ranks) + "x1");
        }};
    for (const auto& change : changes) {
        for (const rank_t faulty : {0, last_rank}) {
            const error heard = refused([&] {
                array_options<int> options{.route = "direct"};
                auto regions = topology::one_region(num_ranks);
                if (rank == faulty) change(options, regions);
                int_array({comm, regions}, num_entries, options);
            });
            EXPECT_EQ(heard.code(), errc::invalid_argument);
            const std::string text = heard.what();
            EXPECT_TRUE(text.ends_with("; give all ranks the same")) << text;
        }
    }
    const error size = refused([&] { int_array(where, num_entries + (rank == 0 ? 1 : 0)); });
    EXPECT_EQ(size.code(), errc::invalid_argument);
    EXPECT_EQ(size.what(), fmt::format("rank 1 has number of entries = {}, rank 0 has {}; give all "
                                       "ranks the same",
                                       num_entries, num_entries + 1));
}

TEST_F(ArrayFaults, SizesMustBeSensible) {
    for (const rank_t faulty : {0, last_rank}) {
        const error negative =
            refused([&] { int_array(where, rank == faulty ? count_t{-1} : num_entries); });
        EXPECT_EQ(negative.code(), errc::invalid_argument);
        EXPECT_EQ(negative.rank(), faulty);
        EXPECT_STREQ(negative.what(), "num_entries is -1; the least is 0");

        const error part = refused([&] {
            int_array(where, num_entries, {.num_local = rank == faulty ? -2 : count_t{1}});
        });
        EXPECT_EQ(part.code(), errc::invalid_argument);
        EXPECT_EQ(part.rank(), faulty);
        EXPECT_STREQ(part.what(), "num_local is -2; the least is 0");
    }
}

TEST_F(ArrayFaults, PartsMustAddUp) {
    const error heard = refused([&] { int_array(where, num_ranks + 1, {.num_local = 1}); });
    EXPECT_EQ(heard.code(), errc::size_mismatch);
    EXPECT_EQ(heard.what(), fmt::format("num_local of all ranks adds up to {}, but the array has "
                                        "{} entries; both must be equal",
                                        num_ranks, num_ranks + 1));
    if (num_ranks == 1) return;

    const error overflow = refused([&] {
        int_array(where, num_entries, {.num_local = std::numeric_limits<count_t>::max() - rank});
    });
    EXPECT_EQ(overflow.code(), errc::count_overflow);
}

TEST_F(ArrayFaults, EntriesMustFitIntoMemory) {
    // The bytes of one rank wrap around to nothing.
    const count_t per_rank = count_t{1} << 62;
    const error heard = refused(
        [&] { int_array(where, per_rank, {.num_local = rank == last_rank ? per_rank : 0}); });
    EXPECT_EQ(heard.code(), errc::out_of_memory);
    EXPECT_EQ(heard.rank(), last_rank);
}

TEST_F(ArrayFaults, TheTopologyMustFit) {
    const error heard = refused([&] {
        int_array({comm, topology::one_region(num_ranks + 1)}, num_entries);
    });
    EXPECT_EQ(heard.code(), errc::size_mismatch);
    EXPECT_EQ(
        heard.what(),
        fmt::format(
            "the topology \"{}\" has {} ranks, but the communicator {}; give one of all its ranks",
            num_ranks + 1, num_ranks + 1, num_ranks));
}

TEST_F(ArrayFaults, TheRouteMustBeKnown) {
    const error unknown = refused([&] { int_array(where, num_entries, {.route = "teleport"}); });
    EXPECT_EQ(unknown.code(), errc::unknown_route);
    const error malformed = refused([&] { int_array(where, num_entries, {.route = "grid:0"}); });
    EXPECT_EQ(malformed.code(), errc::invalid_route);
}

TEST_F(ArrayFaults, RmaTakesNoOperationThatMpiHasNot) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank needs no window";
    int_array a(where, num_entries, {.transport = array_transport::rma});
    fill(a);
    const error heard = thrown_by([&] {
        a.update(indices{1}, values{1}, [](const int& x, const int& y) noexcept { return x * y; });
    });
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    expect_unchanged_and_usable(a);
    a.close();
}

}  // namespace
}  // namespace crossdock::array_faults_test
