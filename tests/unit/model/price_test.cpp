#include "crossdock/price.hpp"

#include <gtest/gtest.h>

#include "crossdock/plan.hpp"
#include "support/machines.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::price_test {
namespace {

using test::pattern_builder;

constexpr double ns = 1e-9;
constexpr double tiny = 1e-15;

TEST(StagePricer, MessagesOfARankFollowEachOtherAndTheLatencyCountsOnce) {
    const auto m = test::uniform_machine(100, 1000, 2);
    stage_pricer stage(m);
    stage.send(locality_level::network, 50, 0);
    stage.send(locality_level::network, 10, 0);
    stage.receive(locality_level::region, 40);

    const auto price = stage.price(0);

    EXPECT_NEAR(price.sending, 200 * ns, tiny);
    EXPECT_NEAR(price.receiving, 100 * ns, tiny);
    EXPECT_NEAR(price.transfer, 120 * ns, tiny);
    EXPECT_NEAR(price.latency, 1200 * ns, tiny);
    EXPECT_NEAR(price.work(), 300 * ns, tiny);
    // One message of mean length from end to end, and the other that is sent.
    EXPECT_NEAR(price.path(), (1200 + 60 + 100) * ns, tiny);
    EXPECT_EQ(stage.network_bytes_sent(), 60);
    EXPECT_EQ(stage.network_bytes_received(), 0);
}

TEST(StagePricer, MessagesAreAPipelineWhoseSlowestPartCounts) {
    auto m = test::uniform_machine(100, 1000, 2);
    m.copy_seconds_per_byte = 3 * ns;
    stage_pricer stage(m);
    for (int k = 0; k < 4; ++k) {
        stage.send(locality_level::network, 50, 1);
        stage.receive(locality_level::network, 50);
    }

    // A message is gathered in 150 ns and travels for 100 ns. Its sender needs 250 ns for each.
    EXPECT_NEAR(stage.price(0).path(), (1200 + 150 + 100 + 3 * 250) * ns, tiny);

    stage.copy(4 * 100, 4);
    // Its receiver needs 300 ns to scatter it, and with the overhead 400 ns.
    EXPECT_NEAR(stage.price(0).path(), (1200 + 150 + 100 + 300 + 3 * 400) * ns, tiny);
    EXPECT_NEAR(stage.price(0).work(), 4 * (250 + 400) * ns, tiny);
    EXPECT_NEAR(stage_seconds(stage.price(0)), (1200 + 150 + 100 + 300 + 3 * 400) * ns, tiny);
}

TEST(StagePricer, SearchGrowsWithTheSquareOfTheMessages) {
    auto m = test::uniform_machine(0, 0, 0);
    m.matching_seconds = 8 * ns;
    stage_pricer stage(m);
    stage.receive(locality_level::network, 8, 10);

    EXPECT_NEAR(stage.price(0).matching, 8 * 100 / 4 * ns, tiny);
}

TEST(StagePricer, ANodeInjectsForAllItsRanks) {
    auto m = test::uniform_machine(0, 0, 1);
    m.injection_seconds_per_byte = 1 * ns;
    stage_pricer stage(m);
    stage.send(locality_level::network, 100, 0);

    EXPECT_NEAR(stage.price(100).path(), 100 * ns, tiny);
    EXPECT_NEAR(stage.price(400).path(), 400 * ns, tiny);
    EXPECT_STREQ(dominating_term(stage.price(100)), "transfer");
    EXPECT_STREQ(dominating_term(stage.price(400)), "injection");
}

TEST(StagePricer, WhatIsHandedOverIsCopiedOnly) {
    auto m = test::uniform_machine(100, 1000, 2);
    m.hand_over_seconds = 7 * ns;
    m.copy_seconds_per_byte = 1 * ns;
    m.copy_seconds_per_item = 3 * ns;
    stage_pricer stage(m);
    stage.hand_over(16, 2);

    EXPECT_NEAR(stage.price(0).path(), (16 + 6 + 7) * ns, tiny);
    EXPECT_NEAR(stage.price(0).work(), (16 + 6) * ns, tiny);
}

TEST(RankSeconds, AreOfEachStageItsWorkOrItsPathWhicheverIsLonger) {
    stage_price waits;
    waits.latency = 10;
    waits.sending = 1;
    stage_price works;
    works.sending = 20;
    works.receiving = 20;

    EXPECT_EQ(rank_seconds(std::vector{waits, waits}), 20);
    EXPECT_EQ(rank_seconds(std::vector{works, waits}), 50);
}

constexpr travel_options messages{8, false};

// Rank 0 of "2x2" sends one item to every other rank.
std::vector<pattern> one_to_all() {
    pattern_builder builder(4);
    for (rank_t destination = 1; destination < 4; ++destination) builder.send(0, 0, destination);
    return builder.take();
}

TEST(Price, OfAPlanNamesItsSlowestRanks) {
    const auto regions = topology::from_string("2x2");
    const auto m = test::uniform_machine(100, 1000, 0);
    const auto patterns = one_to_all();
    const auto direct = compile(regions, patterns, *make_route("direct", regions));
    const auto two_step = compile(regions, patterns, *make_route("two_step", regions));

    const auto price_direct = price(rank_layout(regions), direct, m, messages);
    const auto price_two_step = price(rank_layout(regions), two_step, m, messages);

    ASSERT_EQ(price_direct.stages.size(), 1U);
    EXPECT_EQ(price_direct.stages[0].slowest_rank, 0);
    EXPECT_NEAR(price_direct.seconds, (1200 + 200) * ns, tiny);
    EXPECT_NEAR(price_direct.stages[0].mean_work, 150 * ns, tiny);
    ASSERT_EQ(price_two_step.stages.size(), 2U);
    // Rank 2 gets the item in the first stage, and sends it on to 3 in the second.
    EXPECT_EQ(price_two_step.stages[1].slowest_rank, 2);
    // No rank takes longer than rank 2, and the first stage takes rank 0 longer than rank 2.
    EXPECT_NEAR(price_two_step.seconds,
                exchange_seconds(2 * 1200 * ns, (1200 + 100) * ns + 1200 * ns), tiny);
    EXPECT_NEAR(price_two_step.seconds, 2450 * ns, tiny);
}

TEST(Price, ARankWaitsForStagesThatOthersDoForIt) {
    const auto regions = topology::from_string("2x2");
    pattern_builder builder(4);
    builder.send(0, 0, 3);
    const auto plans = compile(regions, builder.take(), *make_route("two_step", regions));

    // Rank 3 does nothing in the first stage, in which rank 2 gets its item.
    const auto m = test::uniform_machine(100, 1000, 0);
    EXPECT_NEAR(price(rank_layout(regions), plans, m, messages).seconds, 2 * 1200 * ns, tiny);
    EXPECT_EQ(plans[3].stages()[0].receives.size(), 0U);
}

TEST(Price, IsKnownOfEveryRankAndStage) {
    const auto regions = topology::from_string("2x2");
    const auto plans = compile(regions, one_to_all(), *make_route("two_step", regions));

    const auto ranks =
        price_by_rank(rank_layout(regions), plans, test::uniform_machine(100, 1000, 0), messages);

    ASSERT_EQ(ranks.size(), 4U);
    ASSERT_EQ(ranks[2].size(), 2U);
    // Rank 0 sends to 1 and 2; rank 2 sends on to 3.
    EXPECT_NEAR(ranks[0][0].sending, 200 * ns, tiny);
    EXPECT_EQ(ranks[0][1].work(), 0);
    EXPECT_NEAR(ranks[2][0].receiving, 100 * ns, tiny);
    EXPECT_NEAR(ranks[2][1].sending, 100 * ns, tiny);
    EXPECT_NEAR(ranks[3][1].receiving, 100 * ns, tiny);
}

TEST(Price, OfARankWithItselfIsNothing) {
    const auto regions = topology::from_string("1x1");
    pattern_builder builder(1);
    builder.send(0, 0, 0);
    for (const auto& [name, example, summary, make, candidates] : registered_routes()) {
        const auto plans = compile(regions, builder.take(), *make_route(example, regions));
        EXPECT_EQ(price(rank_layout(regions), plans, test::uniform_machine(100, 1000, 0)).seconds,
                  0)
            << name;
    }
}

TEST(Price, OnSharedCoresEveryRankTakesATurnForEachRoundOfMessagesAndOneMore) {
    const auto regions = topology::from_string("2x2");
    auto m = test::uniform_machine(100, 0, 0);
    m.num_cores = 1;
    m.time_slice_seconds = 1000 * ns;
    const auto direct = compile(regions, one_to_all(), *make_route("direct", regions));

    // Four ranks send or receive, in one stage.
    EXPECT_NEAR(price(rank_layout(regions), direct, m, messages).seconds, (600 + 4 * 2 * 1000) * ns,
                tiny);
    // Ranks of a node share memory by default. Rank 1 has no messages: what 0 hands over costs it half a turn.
    EXPECT_NEAR(price(rank_layout(regions), direct, m).seconds, (400 + 3 * 2 * 1000 + 1500) * ns,
                tiny);
    // Messages that cost nothing need turns, too.
    auto free = test::uniform_machine(0, 0, 0);
    free.num_cores = 1;
    free.time_slice_seconds = 1000 * ns;
    EXPECT_NEAR(price(rank_layout(regions), direct, free, messages).seconds, 4 * 2 * 1000 * ns,
                tiny);
}

TEST(Price, RefusesPlansOfOtherRanks) {
    const auto regions = topology::from_string("2x2");
    const auto plans = compile(regions, one_to_all(), *make_route("direct", regions));
    const rank_layout six(topology::from_string("2x3"));
    const auto m = test::uniform_machine(0, 0, 0);

    EXPECT_EQ(test::thrown_by([&] { price(six, plans, m); }).code(), errc::size_mismatch);
}

}  // namespace
}  // namespace crossdock::price_test
