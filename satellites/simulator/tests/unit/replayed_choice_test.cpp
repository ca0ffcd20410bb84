#include "satellites/simulator/src/replayed_choice.hpp"

#include <gtest/gtest.h>

#include <map>

#include "crossdock/plan.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"
#include "support/machines.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::replayed_choice_test {
namespace {

TEST(ChooseByReplay, OrdersTheCandidatesOfTheCheapestPlansByTheirSimulatedTime) {
    const auto regions = topology::from_string("4x4");
    const rank_layout layout(regions);
    const auto patterns = test::random_pattern(16, 3);
    struct both {
        double price;
        double simulated;
    };
    std::map<std::string, both> all;
    std::vector<double> prices;
    for (const auto& route : candidate_routes(regions, default_machine())) {
        const auto plans = compile(regions, patterns, *make_route(route, regions));
        all[route] = {
            price(layout, plans, default_machine()).seconds,
            to_seconds(simulate(layout, schedule_of(layout, plans), default_machine()).slowest)};
        prices.push_back(all[route].price);
    }
    std::sort(prices.begin(), prices.end());

    const auto replayed = choose_by_replay(layout, patterns, default_machine(), {}, 4);

    ASSERT_EQ(replayed.candidates.size(), 4U);
    double last = 0;
    for (const auto& [route, seconds, term] : replayed.candidates) {
        EXPECT_LE(all.at(route).price, prices[3]) << route;
        EXPECT_EQ(seconds, all.at(route).simulated) << route;
        EXPECT_GE(seconds, last) << route;
        last = seconds;
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
    EXPECT_STREQ(fault.what(), "cannot replay 0 candidates; the minimum is 1");
}

}  // namespace
}  // namespace crossdock::replayed_choice_test
