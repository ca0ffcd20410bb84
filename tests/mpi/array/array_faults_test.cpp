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

using namespace test;

using indices = std::vector<count_t>;
using values = std::vector<int>;
using int_array = distributed_array<int>;

constexpr count_t num_entries = 11;

class ArrayFaults : public AllRanks {
  protected:
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

    // One rank gets it wrong, and all must hear of it.
    template <class Call>
    void expect_heard_by_all(int_array& a, errc code, Call&& call) {
        for (const rank_t faulty : {0, num_ranks / 2, last_rank}) {
            SCOPED_TRACE(faulty);
            fill(a);
            expect_thrown(code, faulty, [&] { call(rank == faulty); });
            expect_unchanged_and_usable(a);
        }
    }

    // All ranks' call fails; what they hear.
    template <class Call>
    error refused_by(int_array& a, Call&& call) {
        fill(a);
        const error heard = thrown_by(call);
        expect_unchanged_and_usable(a);
        return heard;
    }

    template <class Use>
    void with_each(const std::vector<array_variant>& variants, Use&& use) const {
        with_arrays<int>(comm, variants, num_entries, use);
    }
    template <class Use>
    void with_few(Use&& use) const {
        with_each(few_variants(num_ranks), use);
    }
    // Those that take any operation.
    template <class Use>
    void with_few_of_any(Use&& use) const {
        with_each(few_variants_of_any_operation(num_ranks), use);
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
};

// Every way to ask for entries at once.
const std::vector<std::function<void(int_array&, const indices&, values&)>> batches{
    [](auto& a, const auto& at, auto& v) { a.read(at, v); },
    [](auto& a, const auto& at, auto& v) { a.write(at, v); },
    [](auto& a, const auto& at, auto& v) { a.update(at, v, sum()); },
    [](auto& a, const auto& at, auto&) { static_cast<void>(a.prepare(at)); }};

// Indices and lengths.

TEST_F(ArrayFaults, AnIndexOutsideIsHeardWithItsRank) {
    with_few([&](int_array& a) {
        for (const count_t bad :
             {num_entries, std::numeric_limits<count_t>::min(), (count_t{1} << 32) + 1}) {
            for (const auto& batch : batches) {
                values own{-1, -1};
                expect_heard_by_all(a, errc::index_out_of_range, [&](bool is_faulty) {
                    batch(a, is_faulty ? indices{1, bad} : indices{2, 3}, own);
                });
                EXPECT_EQ(own, (values{-1, -1})) << "no output is written";
            }
        }
    });
}

TEST_F(ArrayFaults, AQueuedIndexOutsideIsHeardByTheStep) {
    with_few([&](int_array& a) {
        int found = -1;
        const std::vector<std::function<void()>> queue_bad{[&] { a.write(num_entries, 7); },
                                                           [&] { a.update(num_entries, 7); },
                                                           [&] { a.read(num_entries, &found); }};
        for (const auto& queue : queue_bad) {
            expect_heard_by_all(a, errc::index_out_of_range, [&](bool is_faulty) {
                a.write(1, 7);
                a.update(2, 8);
                a.read(3, &found);
                if (is_faulty) queue();
                a.step();
            });
            a.step();
            EXPECT_EQ(found, -1) << "the queue is empty after a step that failed";
            EXPECT_EQ(read_all(a), filled());
        }
    });
}

TEST_F(ArrayFaults, LengthsThatDifferAreHeardWithTheirRank) {
    with_few([&](int_array& a) {
        for (std::size_t k = 0; k < 3; ++k) {
            values one(1), two(2);
            expect_heard_by_all(a, errc::size_mismatch, [&](bool is_faulty) {
                batches[k](a, {1, 2}, is_faulty ? one : two);
            });
        }
    });
}

TEST_F(ArrayFaults, TheLowestOfSeveralFaultyRanksIsHeard) {
    with_few([&](int_array& a) {
        const error heard = refused_by(a, [&] { a.write(indices{20 + rank}, values{1}); });
        EXPECT_EQ(heard.code(), errc::index_out_of_range);
        EXPECT_EQ(heard.rank(), 0);
    });
}

TEST_F(ArrayFaults, OfSeveralFaultsOfARankTheFirstIsHeardLengthsThenWritesUpdatesReads) {
    with_few([&](int_array& a) {
        int found = 0;
        const auto expect_first = [&](count_t index, const std::function<void()>& queue) {
            const error heard = refused_by(a, [&] {
                queue();
                a.step();
            });
            EXPECT_EQ(heard.what(),
                      fmt::format("request 0 of rank 0 is for index {}, outside [0, 11)", index));
        };
        const auto read = [&] { a.read(32, &found); };
        const auto update = [&] { a.update(31, 1); };
        const auto write = [&] { a.write(30, 1); };

        expect_first(30, [&] { read(), update(), write(); });
        expect_first(31, [&] { read(), update(); });
        expect_first(32, read);
        const error heard = refused_by(a, [&] { a.write(indices{30, 31}, values{1}); });
        EXPECT_EQ(heard.code(), errc::size_mismatch);
        EXPECT_EQ(heard.rank(), 0);
    });
}

// Ranks that want different things.

TEST_F(ArrayFaults, AFaultOfARankIsHeardRatherThanThatRanksAskForDifferentThings) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    with_few([&](int_array& a) {
        values out(1);
        const error heard = refused_by(
            a, [&] { is_last ? a.write(indices{30}, values{1}) : a.read(indices{1}, out); });
        EXPECT_EQ(heard.code(), errc::index_out_of_range);
        EXPECT_EQ(heard.rank(), last_rank);
    });
}

TEST_F(ArrayFaults, RanksMustAskForTheSame) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    with_few([&](int_array& a) {
        values out(1);
        const std::vector<std::function<void()>> calls{
            [&] { a.read(indices{1}, out); },
            [&] { a.write(indices{1}, values{5}); },
            [&] { a.update(indices{1}, values{5}, sum()); },
            [&] { a.update(indices{1}, values{5}, maximum()); },
            [&] { a.step(); },
            [&] { a.step(minimum()); }};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            for (std::size_t j = 0; j < calls.size(); ++j) {
                if (i == j) continue;
                fill(a);
                expect_thrown(errc::invalid_argument, last_rank,
                              [&] { is_last ? calls[i]() : calls[j](); });
            }
        }
        expect_unchanged_and_usable(a);
    });
}

// Who does not know what the others ask for must take the same route nevertheless.
TEST_F(ArrayFaults, RanksMustAskForTheSameOnTheRouteOfAuto) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const auto regions = num_ranks == 8 ? topology::from_string("4x2") : one_region;
    for (const bool is_updated : {false, true}) {
        int_array a({comm, regions}, 10, {.expected_requests = count_t{1} << 30});
        values out(1);
        a.read(indices{1}, std::span(out));  // so few that the next batch has another route
        expect_thrown(errc::invalid_argument, [&] {
            if (!is_last) {
                a.read(indices{1}, std::span(out));
            } else if (is_updated) {
                a.update(indices{1}, values{5}, sum());
            } else {
                a.step(minimum());
            }
        });
        a.close();
    }
}

TEST_F(ArrayFaults, TwoOperationsOfTheUserAreNotTheSame) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const auto first = [](const int& a, const int& b) noexcept { return a + b; };
    const auto second = [](const int& a, const int& b) noexcept { return a + b; };
    with_few_of_any([&](int_array& a) {
        const error heard = refused_by(a, [&] {
            if (rank == 0) {
                a.update(indices{1}, values{5}, first);
            } else {
                a.update(indices{1}, values{5}, second);
            }
        });
        EXPECT_EQ(heard.code(), errc::invalid_argument);
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
    with_each(variants, [&](int_array& a) {
        for (const rank_t faulty : {0, num_ranks / 2, last_rank}) {
            const values own = rank == faulty ? values{1, 2} : values{40, 80};
            const error heard = refused_by(a, [&] {
                a.update(indices{5, 5}, own, refusing_sum{3});
            });
            expect_refusal(heard);
            EXPECT_EQ(heard.rank(), faulty);
            EXPECT_EQ(heard.what(), "an operation threw at rank " + std::to_string(faulty) +
                                        " for index 5: these must not meet");
        }
    });
}

TEST_F(ArrayFaults, AnOperationMayThrowOnTheWay) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank meets nobody";
    with_each(variants_of_any_operation(num_ranks), [&](int_array& a) {
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
    });
}

TEST_F(ArrayFaults, AnOperationMayThrowAtAnOwnerAfterOthersHaveChanged) {
    indices all;
    for (count_t i = 0; i < num_entries; ++i) all.push_back(i);
    with_few_of_any([&](int_array& a) {
        for (const count_t bad : {count_t{0}, num_entries / 2, num_entries - 1}) {
            // All entries change, and the bad one throws with what it is.
            const auto op = [refused = 100 + static_cast<int>(bad)](const int& x, const int& y) {
                if (x == refused) throw std::runtime_error("these must not meet");
                return x + y;
            };
            const error heard =
                refused_by(a, [&] { a.update(all, values(num_entries, 1000), op); });
            expect_refusal(heard);
            EXPECT_EQ(heard.rank(), a.owners().owner(bad));
            EXPECT_NE(std::string(heard.what()).find(" for index " + std::to_string(bad) + ":"),
                      std::string::npos)
                << heard.what();
        }
    });
}

TEST_F(ArrayFaults, AStepThatThrowsUndoesItsWrites) {
    with_few_of_any([&](int_array& a) {
        int found = -1;
        a.write(3, 1);
        a.write(rank % num_entries, 55);
        a.update(3, 2);
        a.read(3, &found);
        expect_refusal(refused_by(a, [&] {
            a.step([](const int& x, const int&) -> int {
                if (x >= 0) throw std::runtime_error("these must not meet");
                return x;
            });
        }));
        EXPECT_EQ(found, -1);
    });
}

TEST_F(ArrayFaults, AChoiceOfWritesMayThrow) {
    for (const auto& variant : variants_of_any_operation(num_ranks)) {
        SCOPED_TRACE(variant.name);
        auto options = variant.options<int>(overwrite::user);
        options.choose = [](const int& x, const int& y) {
            if (x + y == 3) throw std::runtime_error("these must not meet");
            return std::max(x, y);
        };
        int_array a(variant.where(comm), num_entries, options);
        // 1 of the first rank and 2 of the last meet somewhere; where there is one, both are its own.
        indices at{1};
        values what{rank == 0 ? 1 : 2};
        if (rank != 0 && !is_last) at.clear(), what.clear();
        if (num_ranks == 1) at.push_back(1), what.push_back(2);
        expect_refusal(refused_by(a, [&] { a.write(at, what); }));
        a.close();
    }
}

TEST_F(ArrayFaults, ErrorsOfAnOperationKeepTheirCode) {
    with_few_of_any([&](int_array& a) {
        const error heard = refused_by(a, [&] {
            a.update(indices{1}, values{1}, [](const int&, const int&) -> int {
                throw error(errc::parse_error, "an error of the library's kind");
            });
        });
        EXPECT_EQ(heard.code(), errc::parse_error);
        EXPECT_NE(std::string(heard.what()).find("an error of the library's kind"),
                  std::string::npos);

        const error other = refused_by(a, [&] {
            a.update(indices{1}, values{1}, [](const int&, const int&) -> int { throw 3; });
        });
        EXPECT_EQ(other.code(), errc::invalid_argument);
    });
}

TEST_F(ArrayFaults, AnOperationMustNotMakeRequests) {
    with_few_of_any([&](int_array& a) {
        int found = 0;
        values out(1);
        auto p = a.prepare(indices{1});
        std::vector<std::function<void()>> requests{
            [&] { a.read(1, &found); },
            [&] { a.write(1, 1); },
            [&] { a.update(1, 1); },
            [&] { a.step(); },
            [&] { p.read(out); },
            [&] { p.update(std::span<const int>(out), sum()); },
            [&] { p.gather(out); },
            [&] { p.scatter({}, out); },
            [&] { p.fetch_and_update(out, std::span(out), sum()); }};
        for (const auto& batch : batches) requests.push_back([&] { batch(a, {1}, out); });
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
    with_few([&](int_array& a) {
        auto p = a.prepare(indices{3, 4});
        values out(2), own{5};
        std::vector<std::function<void()>> calls{[&] { a.step(); }};
        for (std::size_t k = 0; k < 3; ++k) calls.push_back([&, k] { batches[k](a, {1}, own); });
        for (const auto& call : calls) {
            fill(a);
            p.start_read(out);
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
    with_few([&](int_array& a) {
        auto p = a.prepare(indices{3, 4});
        fill(a);
        values out(2);
        p.start_read(out);
        if (!is_last) p.wait();
        expect_thrown(errc::invalid_state, last_rank, [&] { a.write(indices{1}, values{5}); });
        if (is_last) p.wait();
        EXPECT_EQ(out, (values{103, 104}));
        expect_unchanged_and_usable(a);
    });
}

TEST_F(ArrayFaults, AClosedArrayRefusesRequests) {
    with_few([&](int_array& a) {
        a.step();
        a.close();
        values own{5};
        expect_thrown(errc::invalid_state, [&] { a.step(); });
        for (const auto& batch : batches)
            EXPECT_STREQ(thrown_by([&] { batch(a, {1}, own); }).what(),
                         "the distributed array is closed");
    });
}

// Making one.

TEST_F(ArrayFaults, UsersRuleNeedsAFunction) {
    const error heard =
        refused([&] { int_array(where, num_entries, {.equal_writes = overwrite::user}); });
    EXPECT_EQ(heard.code(), errc::invalid_argument);

    // On one rank only.
    const error one = refused([&] {
        array_options<int> options{.equal_writes = overwrite::user};
        if (!is_last) options.choose = [](const int& a, const int&) { return a; };
        int_array(where, num_entries, options);
    });
    EXPECT_EQ(one.code(), errc::invalid_argument);
    EXPECT_EQ(one.rank(), last_rank);
}

TEST_F(ArrayFaults, TheLeastNeedsAnOrder) {
    const error heard =
        refused([&] { distributed_array<link>(where, 4, {.equal_writes = overwrite::minimum}); });
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
        [&](auto&, auto& regions) { regions = each_alone; }};
    for (const auto& change : changes) {
        for (const rank_t faulty : {0, last_rank}) {
            const error heard = refused([&] {
                array_options<int> options{.route = "direct"};
                auto regions = one_region;
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
    EXPECT_EQ(size.rank(), 1);
}

TEST_F(ArrayFaults, SizesMustBeSensible) {
    for (const rank_t faulty : {0, last_rank}) {
        const error negative =
            refused([&] { int_array(where, rank == faulty ? count_t{-1} : num_entries); });
        const error part = refused([&] {
            int_array(where, num_entries, {.num_local = rank == faulty ? -2 : count_t{1}});
        });
        for (const auto& heard : {negative, part}) {
            EXPECT_EQ(heard.code(), errc::invalid_argument);
            EXPECT_EQ(heard.rank(), faulty);
        }
    }
}

TEST_F(ArrayFaults, PartsMustAddUp) {
    const error heard = refused([&] { int_array(where, num_ranks + 1, {.num_local = 1}); });
    EXPECT_EQ(heard.code(), errc::size_mismatch);
    if (num_ranks == 1) return;

    const error overflow = refused([&] {
        int_array(where, num_entries, {.num_local = std::numeric_limits<count_t>::max() - rank});
    });
    EXPECT_EQ(overflow.code(), errc::count_overflow);
}

TEST_F(ArrayFaults, EntriesMustFitIntoMemory) {
    // The bytes of one rank wrap around to nothing.
    const count_t per_rank = count_t{1} << 62;
    const error heard =
        refused([&] { int_array(where, per_rank, {.num_local = is_last ? per_rank : 0}); });
    EXPECT_EQ(heard.code(), errc::out_of_memory);
    EXPECT_EQ(heard.rank(), last_rank);
    EXPECT_EQ(heard.what(), "rank " + std::to_string(last_rank) +
                                " has no memory for its 4611686018427387904 entries of 4 bytes; "
                                "take more ranks or fewer entries");
}

TEST_F(ArrayFaults, TheTopologyMustFit) {
    const error heard = refused([&] {
        int_array({comm, topology::one_region(num_ranks + 1)}, num_entries);
    });
    EXPECT_EQ(heard.code(), errc::size_mismatch);
}

TEST_F(ArrayFaults, TheRouteMustBeKnown) {
    const error unknown = refused([&] { int_array(where, num_entries, {.route = "teleport"}); });
    EXPECT_EQ(unknown.code(), errc::unknown_route);
    const error malformed = refused([&] { int_array(where, num_entries, {.route = "grid:0"}); });
    EXPECT_EQ(malformed.code(), errc::invalid_route);
}

TEST_F(ArrayFaults, RmaWritesByNoOtherRule) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank needs no window";
    int_array a(where, num_entries,
                {.transport = array_transport::rma, .equal_writes = overwrite::minimum});
    const error heard = refused_by(a, [&] { a.write(indices{1}, values{1}); });
    EXPECT_EQ(heard.code(), errc::invalid_argument);
    a.close();
}

}  // namespace
}  // namespace crossdock::array_faults_test
