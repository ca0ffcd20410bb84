#include "crossdock/simulator/replayed_choice.hpp"

#include <gtest/gtest.h>

#include "crossdock/plan/compile.hpp"
#include "crossdock/simulator/plan_schedule.hpp"
#include "crossdock/simulator/simulate.hpp"
#include "support/machines.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock {
namespace {

TEST(ChooseByReplay, OrdersTheCheapestCandidatesByTheirSimulatedTime) {
    const auto regions = topology::from_string("4x4");
    const rank_layout layout(regions);
    const auto patterns = test::random_pattern(16, 3);
    const auto estimated = choose_route(layout, patterns, default_machine());

    const auto replayed = choose_by_replay(layout, patterns, default_machine(), {}, 4);

    ASSERT_EQ(replayed.candidates.size(), 4U);
    double last = 0;
    for (const auto& [route, seconds, term] : replayed.candidates) {
        const auto plans = compile(regions, patterns, *make_route(route, regions));
        const auto outcome = simulate(layout, schedule_of(layout, plans), default_machine());
        EXPECT_EQ(seconds, to_seconds(outcome.slowest)) << route;
        EXPECT_GE(seconds, last) << route;
        last = seconds;
        const auto cheapest = std::span(estimated.candidates).first(4);
        EXPECT_TRUE(std::any_of(cheapest.begin(), cheapest.end(), [&](const auto& one) {
            return one.route == route;
        })) << route;
    }
}

TEST(ChooseByReplay, ReplaysNoMoreThanThereAre) {
    const rank_layout layout(topology::from_string("1x2"));
    const auto choice = choose_by_replay(layout, test::random_pattern(2, 3), default_machine());
    ASSERT_EQ(choice.candidates.size(), 1U);
    EXPECT_EQ(choice.route(), "direct");
}

TEST(ChooseByReplay, RefusesToReplayNothing) {
    const rank_layout layout(topology::from_string("1x2"));
    const auto fault = test::thrown_by(
        [&] { choose_by_replay(layout, test::random_pattern(2, 3), default_machine(), {}, 0); });
    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "0 candidates are to be replayed");
}

}  // namespace
}  // namespace crossdock
