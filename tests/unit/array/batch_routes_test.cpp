#include "src/array/batch_routes.hpp"

#include <gtest/gtest.h>

#include "support/machines.hpp"

namespace crossdock::batch_routes_test {
namespace {

// As in the tests of the rule: grid:2 for few requests, direct for many.
batch_routes routings_of(const std::string& route, count_t expected_requests) {
    static const machine slow_overheads = test::uniform_machine(100, 50, 1);
    return {topology::one_region(8),
            block_partition::blocks(80, 8),
            3,
            route,
            expected_requests,
            {4, 4},
            slow_overheads};
}

TEST(BatchRoutes, TakesTheRouteThatIsNamed) {
    auto routings = routings_of("hypercube", 0);

    routings.learn(1000);

    EXPECT_EQ(routings.choose_next().r->name(), "hypercube");
    EXPECT_EQ(routings.max_stages(), 3U);
    EXPECT_EQ(routings.latest().here, 3);
    EXPECT_EQ(routings.latest().owners.size(3), 10);
}

TEST(BatchRoutes, WhatItLearnsCountsFromTheNextChoiceOn) {
    auto routings = routings_of("auto", 0);

    routings.learn(1000);
    EXPECT_EQ(routings.latest().r->name(), "grid:2");
    EXPECT_EQ(routings.choose_next().r->name(), "direct");
    EXPECT_EQ(routings.latest().r->name(), "direct");
    EXPECT_EQ(routings.max_stages(), 2U);  // of both

    routings.learn(1);
    EXPECT_EQ(routings.choose_next().r->name(), "grid:2");
    EXPECT_EQ(routings_of("auto", 1000).latest().r->name(), "direct");
}

TEST(BatchRoutes, RefusesARouteThatThereIsNot) { EXPECT_THROW(routings_of("none", 0), error); }

}  // namespace
}  // namespace crossdock::batch_routes_test
