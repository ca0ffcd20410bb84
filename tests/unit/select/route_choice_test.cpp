#include "crossdock/route_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crossdock/plan.hpp"
#include "support/machines.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::route_choice_test {
namespace {

using test::pattern_builder;
using test::ring_pattern;

constexpr double unevenness = 1.1;

// Every rank of one region of `regions` sends an item of its own to every rank of the others.
std::vector<pattern> dense(const topology& regions) {
    pattern_builder builder(regions.num_ranks());
    for (rank_t source = 0; source < regions.num_ranks(); ++source) {
        for (rank_t destination = 0; destination < regions.num_ranks(); ++destination) {
            if (regions.region_of(source) != regions.region_of(destination))
                builder.send(source, destination, destination);
        }
    }
    return builder.take();
}

// A machine on which only messages between nodes cost anything.
machine far_nodes() {
    auto m = test::uniform_machine(0, 0, 0);
    auto& network = m.levels[static_cast<std::size_t>(locality_level::network)];
    network.send_overhead_seconds = 1e-6;
    network.eager.latency_seconds = 1e-6;
    network.rendezvous.latency_seconds = 1e-6;
    return m;
}

double price_of(const route_choice& choice, const std::string& route) {
    for (const auto& candidate : choice.candidates) {
        if (candidate.route == route) return candidate.seconds;
    }
    throw error(errc::unknown_route, route + " is no candidate");
}

TEST(CandidateRoutes, DependOnRanksAndRegionsAndSharedCores) {
    using names = std::vector<std::string>;
    // Of the library's own routes: who adds one need not change this test.
    const names own{"direct", "two_step", "three_step", "grid", "hypercube", "locality"};
    const auto of = [&](const char* regions, const machine& m = default_machine()) {
        auto found = candidate_routes(topology::from_string(regions), m);
        std::erase_if(found, [&](const std::string& name) {
            return std::ranges::find(own, name.substr(0, name.find(':'))) == own.end();
        });
        return found;
    };
    const auto shared_cores = load_machine("shared_cores");

    EXPECT_EQ(of("1x1"), (names{"direct"}));
    EXPECT_EQ(of("1x2"), (names{"direct"}));
    EXPECT_EQ(of("1x8"), (names{"direct", "grid:2", "hypercube"}));
    EXPECT_EQ(of("8x1"), (names{"direct", "grid:2", "hypercube"}));
    EXPECT_EQ(of("2x4"), (names{"direct", "two_step", "three_step", "grid:2", "hypercube"}));
    EXPECT_EQ(of("64x16"), (names{"direct", "two_step", "three_step", "grid:2", "grid:3", "grid:4",
                                  "hypercube", "locality:2", "locality:3"}));
    EXPECT_EQ(of("1x8", shared_cores), (names{"direct", "grid:2", "hypercube"}));
    EXPECT_EQ(of("2x4", shared_cores),
              (names{"direct", "two_step", "three_step", "three_step:1", "grid:2", "hypercube"}));
}

const estimate_options messages{{8, false}};

TEST(ChooseRoute, TakesThreeStepsWhereNodesAreFarAndPatternsDense) {
    const auto regions = topology::from_string("4x4");

    const auto choice = choose_route(rank_layout(regions), dense(regions), far_nodes(), messages);

    // Each member speaks with one of the three other regions, and one member with none. A message takes
    // 2 us, and each other that a rank sends 1 us.
    EXPECT_EQ(choice.route(), "three_step");
    EXPECT_NEAR(price_of(choice, "three_step"), 2e-6, 1e-12);
    EXPECT_NEAR(price_of(choice, "two_step"), 4e-6, 1e-12);
    EXPECT_NEAR(price_of(choice, "direct"), 13e-6, 1e-12);
}

TEST(ChooseRoute, KnowsTheDirectRouteAsItsPlansDo) {
    const auto regions = topology::from_string("2x4,3");
    const rank_layout layout(regions);
    for (const auto& m : machine_presets()) {
        for (const auto& [name, patterns] : test::conformance_patterns(regions.num_ranks())) {
            const auto plans = compile(regions, patterns, *make_route("direct", regions));
            const auto choice = choose_route(layout, patterns, m, messages);
            // Looking for items that go to one rank twice is not worth it.
            const double exact = price(layout, plans, m, messages.travel).seconds;
            EXPECT_NEAR(price_of(choice, "direct"), exact, 0.006 * exact)
                << name << " on " << m.name;
        }
    }
}

// Nothing is sent twice, all ask for the same, or all ranks are alike.
TEST(ChooseRoute, KnowsRoutesAsTheirPlansDo) {
    const auto regions = topology::from_string("4x4");
    const auto alone = topology::from_string("16x1");
    pattern_builder same(16);
    for (rank_t source = 0; source < 16; ++source) {
        for (rank_t destination = 0; destination < 16; ++destination)
            for (count_t item = 0; item < 3; ++item) same.send(source, item, destination);
    }
    const auto expect_as_plans = [](const topology& where, const std::vector<pattern>& patterns,
                                    const std::vector<std::string>& routes, double factor = 1) {
        const rank_layout layout(where);
        for (const auto& m : machine_presets()) {
            const auto choice = choose_route(layout, patterns, m, messages);
            for (const auto& route : routes) {
                if (route == "three_step:1" && m.num_cores == 0) continue;
                const auto plans = compile(where, patterns, *make_route(route, where));
                // Where cores are shared, the work of all ranks decides here, of which nothing is unknown.
                EXPECT_NEAR(price_of(choice, route),
                            (m.num_cores > 0 ? 1 : factor) *
                                price(layout, plans, m, messages.travel).seconds,
                            1e-10)
                    << route << " on " << m.name;
            }
        }
    };

    expect_as_plans(regions, dense(regions), {"two_step", "three_step", "three_step:1"});
    expect_as_plans(regions, same.take(), {"two_step", "three_step"});
    expect_as_plans(alone, dense(alone), {"grid:2", "grid:3", "hypercube"}, unevenness);
}

TEST(ChooseRoute, ScattersItemsInTheStageThatBringsThem) {
    // Rank 1 gets rank 0's ten items at once, and rank 3 in the second stage.
    pattern_builder builder(4);
    for (count_t item = 0; item < 10; ++item) {
        builder.send(0, item, 1);
        builder.send(0, item, 3);
    }
    auto m = test::uniform_machine(0, 0, 0);
    m.copy_seconds_per_item = 1e-6;

    const auto choice =
        choose_route(rank_layout(topology::from_string("2x2")), builder.take(), m, messages);

    // The slowest rank of the first stage gathers for two, 20 us, and that of the second gathers for one and
    // another scatters. Rank 2 gathers alone in its stages, and rank 3 scatters alone.
    EXPECT_NEAR(price_of(choice, "two_step"), exchange_seconds(20e-6, 20e-6 + 10e-6), 1e-12);
}

TEST(ChooseRoute, DoesNotChargeOneRankForAllThatForwardItsItems) {
    // Rank 0 of 64 has an item for every other rank. In the second stage of a grid 8 ranks have them.
    pattern_builder builder(64);
    for (rank_t destination = 1; destination < 64; ++destination)
        builder.send(0, destination, destination);
    auto m = test::uniform_machine(0, 0, 0);
    m.copy_seconds_per_item = 1e-6;

    const auto choice =
        choose_route(rank_layout(topology::from_string("64x1")), builder.take(), m, messages);

    // Rank 0 copies 56 items for other rows and 7 for its own; that 49 others are copied once more is shared
    // by 64 ranks. It would copy them itself if it forwarded as much for others.
    EXPECT_NEAR(price_of(choice, "direct"), 63e-6, 1e-11);
    EXPECT_NEAR(price_of(choice, "grid:2"),
                unevenness * (7 * (56 + 7 + 49 / 64.0) + (56 + 7 + 49)) / 8 * 1e-6, 1e-11);
}

TEST(ChooseRoute, RanksOfANodeShareMemoryByDefaultAndSendNothingToEachOther) {
    const auto regions = topology::from_string("1x8");
    auto m = test::uniform_machine(1000, 1000, 0);
    const auto choice = choose_route(rank_layout(regions), ring_pattern(8), m);

    EXPECT_EQ(choice.route(), "direct");
    EXPECT_EQ(price_of(choice, "direct"), 0);
}

TEST(ChooseRoute, AddsUpTheWorkOfAllRanksWhereCoresAreShared) {
    auto m = test::uniform_machine(100, 0, 0);
    m.num_cores = 2;

    const auto choice =
        choose_route(rank_layout(topology::from_string("1x8")), ring_pattern(8), m, messages);

    // 8 ranks, each sends and receives once.
    EXPECT_NEAR(price_of(choice, "direct"), 8 * 2 * 100e-9 / 2, 1e-12);

    m.time_slice_seconds = 1e-6;
    const auto in_turns =
        choose_route(rank_layout(topology::from_string("1x8")), ring_pattern(8), m, messages);

    // It sends in one turn, and receives in the next.
    EXPECT_NEAR(price_of(in_turns, "direct"), 8 * (2 * 100e-9 + 2 * 1e-6) / 2, 1e-12);
}

TEST(ChooseRoute, SaysWhatMostOfTheTimeGoesTo) {
    const auto choice = choose_route(rank_layout(topology::from_string("1x2")), ring_pattern(2),
                                     far_nodes(), messages);
    EXPECT_EQ(choice.candidates.front().dominating_term, "sending");
    EXPECT_TRUE(to_string(choice).starts_with("direct              0.000 us  mostly sending\n"));
}

TEST(ChooseRoute, NeighborsWithoutItemsChangeNothing) {
    const auto regions = topology::from_string("2x2");
    pattern_builder builder(4);
    builder.send(1, 0, 3);
    const auto without = choose_route(rank_layout(regions), builder.take(), default_machine());
    builder.connect(0, 2);

    const auto with = choose_route(rank_layout(regions), builder.take(), default_machine());

    EXPECT_EQ(to_string(with), to_string(without));
}

TEST(ChooseRoute, RefusesPatternsOfOtherRanks) {
    const rank_layout layout(topology::from_string("2x2"));

    EXPECT_EQ(
        test::thrown_by([&] { return choose_route(layout, ring_pattern(3), far_nodes()); }).code(),
        errc::size_mismatch);
}

}  // namespace
}  // namespace crossdock::route_choice_test
