#include "crossdock/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"
#include "support/golden.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::compile_test {
namespace {

using test::compile_route;
using test::thrown_by;

struct compile_case {
    const topology& regions;
    const std::vector<pattern>& patterns;
    const route& made;
    bool deduplicate;
};

class CompileConformance : public testing::TestWithParam<std::string> {
  protected:
    /// Calls `check(compile_case, plans)` for all kinds of regions and patterns.
    template <class Check>
    void for_all_cases(Check check) {
        for (const rank_t num_ranks : {1, 2, 3, 5, 8, 13, 40}) {
            const auto conformance = test::conformance_patterns(num_ranks);
            for (const auto& regions : test::conformance_topologies(num_ranks)) {
                const auto made = make_route(GetParam(), regions);
                for (const auto& [name, patterns] : conformance) {
                    for (const bool deduplicate : {true, false}) {
                        SCOPED_TRACE(regions.to_string() + " " + name);
                        check(compile_case{regions, patterns, *made, deduplicate},
                              compile(regions, patterns, *made, {.deduplicate = deduplicate}));
                        if (HasFatalFailure()) return;
                    }
                }
            }
        }
    }
};

TEST_P(CompileConformance, EveryItemArrivesExactlyOnceWithinTheBounds) {
    for_all_cases([](const compile_case& c, const std::vector<plan>& plans) {
        ASSERT_NO_THROW(verify(plans, c.patterns));
        for (std::size_t p = 0; p < plans.size(); ++p) {
            ASSERT_EQ(plans[p].deliveries().size(), c.patterns[p].receives.indices.size());
            ASSERT_EQ(plans[p].route(), c.made.name());
            ASSERT_EQ(plans[p].is_deduplicated(), c.deduplicate);
            ASSERT_EQ(plans[p].stages().size(), static_cast<std::size_t>(c.made.num_stages()));
            ASSERT_LE(total_traffic(c.regions, plans[p]).messages, c.made.max_messages_per_rank());
        }
    });
}

TEST_P(CompileConformance, NothingIsSentWithoutItemsAndEverythingInOrder) {
    for_all_cases([](const compile_case& c, const std::vector<plan>& plans) {
        for (const auto& p : plans) {
            for (const auto& stage : p.stages()) {
                for (const auto& message : stage.receives) ASSERT_GT(message.num_items, 0);
                for (const auto& message : stage.sends) {
                    const auto& positions = message.positions;
                    ASSERT_FALSE(positions.empty());
                    ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end()));
                    if (!c.deduplicate) continue;
                    ASSERT_EQ(std::adjacent_find(positions.begin(), positions.end()),
                              positions.end());
                }
            }
            ASSERT_TRUE(std::is_sorted(
                p.deliveries().begin(), p.deliveries().end(),
                [](const auto& a, const auto& b) { return a.position < b.position; }));
        }
    });
}

TEST_P(CompileConformance, DeduplicationNeverSendsMore) {
    for (const auto& regions : test::conformance_topologies(13)) {
        for (const auto& [name, patterns] : test::conformance_patterns(13)) {
            const auto with = analyze(regions, compile_route(GetParam(), regions, patterns, true));
            const auto without =
                analyze(regions, compile_route(GetParam(), regions, patterns, false));

            ASSERT_LE(with.total.items.total, without.total.items.total) << name;
            ASSERT_LE(with.total.inter_region_items.total, without.total.inter_region_items.total)
                << name;
        }
    }
}

// Lists of one entry each may become messages as they stand; those of several are put together.
TEST_P(CompileConformance, AListMayHaveSeveralEntries) {
    for_all_cases([](const compile_case& c, const std::vector<plan>& plans) {
        auto split = c.patterns;
        for (auto& one : split) {
            neighbor_list halves;
            for (std::size_t e = 0; e < one.sends.size(); ++e) {
                const auto list = one.sends[e];
                halves.append(one.sends.ranks[e], list.first(list.size() / 2));
                halves.append(one.sends.ranks[e], list.subspan(list.size() / 2));
            }
            one.sends = halves;
        }
        ASSERT_EQ(compile(c.regions, split, c.made, {.deduplicate = c.deduplicate}), plans);
    });
}

TEST_P(CompileConformance, NamesBothRanksOfMismatchedCounts) {
    const auto regions = topology::from_string("2,3");
    const auto fault_of = [&](const std::vector<pattern>& patterns) {
        const error fault = thrown_by([&] { compile_route(GetParam(), regions, patterns); });
        EXPECT_EQ(fault.code(), errc::count_mismatch);
        EXPECT_EQ(fault.rank(), 4);
        const std::string sentence = fault.what();
        return sentence.substr(0, sentence.find(';'));
    };
    test::pattern_builder builder(5);
    builder.send(0, 0, 4);
    builder.send(0, 1, 4);
    builder.send(3, 0, 4);
    const auto matching = builder.take();

    auto more_sent = matching;
    more_sent[4].receives = {};
    more_sent[4].receives.append(0, std::vector<count_t>{0});
    more_sent[4].receives.append(3, std::vector<count_t>{2});
    auto more_expected = matching;
    more_expected[0].sends = {};
    more_expected[0].sends.append(4, std::vector<count_t>{1});
    auto only_sent = matching;
    only_sent[4].receives = {};
    only_sent[4].receives.append(3, std::vector<count_t>{2});
    auto only_expected = matching;
    only_expected[3].sends = {};
    auto from_itself = matching;
    from_itself[4].num_items = 1;
    from_itself[4].sends.append(4, std::vector<count_t>{0});

    EXPECT_EQ(fault_of(more_sent), "rank 0 sends 2 items to rank 4, which expects 1");
    EXPECT_EQ(fault_of(more_expected), "rank 0 sends 1 items to rank 4, which expects 2");
    EXPECT_EQ(fault_of(only_sent), "rank 0 sends 2 items to rank 4, which expects 0");
    EXPECT_EQ(fault_of(only_expected), "rank 3 sends 0 items to rank 4, which expects 1");
    EXPECT_EQ(fault_of(from_itself), "rank 4 sends 1 items to rank 4, which expects 0");
}

INSTANTIATE_TEST_SUITE_P(Routes, CompileConformance, testing::ValuesIn(test::conformance_routes()),
                         [](const auto& instance) { return test::test_name(instance.param); });

TEST(Compile, SendsAnItemForManyDestinationsOncePerHop) {
    test::pattern_builder builder(4);
    for (const rank_t destination : {1, 2, 3}) builder.send(0, 0, destination);
    const auto regions = topology::from_string("2x2");

    const auto with = analyze(regions, compile_route("grid:2x2", regions, builder.take()));
    const auto without =
        analyze(regions, compile_route("grid:2x2", regions, builder.take(), false));

    EXPECT_EQ(with.total.items.total, 3);
    EXPECT_EQ(with.total.inter_region_items.total, 1);
    EXPECT_EQ(without.total.items.total, 4);
    EXPECT_EQ(without.total.inter_region_items.total, 2);
}

TEST(Compile, RefusesPatternsThatAreNotThoseOfTheRanks) {
    const auto code_of = [](const std::vector<pattern>& patterns) {
        return thrown_by([&] { compile_route("direct", topology::from_string("2x2"), patterns); })
            .code();
    };
    auto of_others = test::ring_pattern(4);
    std::swap(of_others[1], of_others[2]);
    auto invalid = test::ring_pattern(4);
    invalid[2].sends.ranks[0] = 4;

    EXPECT_EQ(code_of(test::ring_pattern(3)), errc::size_mismatch);
    EXPECT_EQ(code_of(of_others), errc::size_mismatch);
    EXPECT_EQ(code_of(invalid), errc::rank_out_of_range);
}

/// One plan per line.
std::string golden_text(const std::vector<plan>& plans) {
    std::string text = "[\n";
    for (const auto& p : plans) text += to_json(p) + (p.rank() + 1 < p.num_ranks() ? ",\n" : "\n");
    return text + "]\n";
}

TEST(Compile, GivesTheGoldenPlans) {
    const auto expect = [](const std::string& file, const char* route_name, const char* regions,
                           const std::vector<pattern>& patterns) {
        test::expect_golden(
            "plan/" + file,
            golden_text(compile_route(route_name, topology::from_string(regions), patterns)));
    };

    expect("three_step-node2x4-ring.json", "three_step", "2x4", test::ring_pattern(8));
    expect("two_step-node2,3-one_heavy_row.json", "two_step", "2,3",
           test::one_heavy_row_pattern(5));
    expect("grid2x3-node5-random.json", "grid:2x3", "5", test::random_pattern(5));
}

TEST(Compile, WorksFor16384RanksOnEveryRoute) {
    const auto regions = topology::from_string("1024x16");
    const rank_t num_ranks = regions.num_ranks();
    test::pattern_builder builder(num_ranks);
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (const rank_t distance : {1, 15, 16, 17, 1000, num_ranks / 2})
            builder.send(source, distance % 2, (source + distance) % num_ranks);
    }
    const auto patterns = builder.take();

    for (const auto& entry : registered_routes()) {
        const auto plans = compile_route(entry.example, regions, patterns);

        EXPECT_NO_THROW(verify(plans, patterns)) << entry.name;
        EXPECT_LE(analyze(regions, plans).total.messages.max,
                  make_route(entry.example, regions)->max_messages_per_rank())
            << entry.name;
    }
}

}  // namespace
}  // namespace crossdock::compile_test
