#include "src/array/route_rule.hpp"

#include <gtest/gtest.h>

#include "support/machines.hpp"

namespace crossdock::route_rule_test {
namespace {

// Of 8 ranks direct sends 7 messages, 1400 ns of overheads; a quarter of n requests travels in each
// of 3 messages of grid:2, then half of them in one.
const machine& slow_overheads() {
    static const machine m = test::uniform_machine(100, 50, 1);
    return m;
}

const topology& eight_ranks() {
    static const topology regions = topology::one_region(8);
    return regions;
}

std::string chosen(count_t num_requests, const request_size& size) {
    return array_route_rule(eight_ranks(), num_requests, size, slow_overheads()).route_for_next();
}

// For 4 bytes, there as back, direct takes 1400 ns, and 6.1 n for the requests that arrive. grid:2 takes 600,
// 250 + 2 n and 8.8 n: as much for n = 119.
TEST(ArrayRouteRule, TakesDirectWhereMovingItemsAgainCostsMoreThanMessages) {
    EXPECT_EQ(chosen(0, {4, 4}), "grid:2");
    EXPECT_EQ(chosen(112, {4, 4}), "grid:2");
    EXPECT_EQ(chosen(120, {4, 4}), "direct");
    EXPECT_EQ(chosen(count_t{1} << 40, {4, 4}), "direct");
}

// grid:2 takes 850 + 2 n there, 500 + 10 n back, and 5.3 n more for requests that arrive: 2800 for n = 84.
TEST(ArrayRouteRule, CountsTheBytesOfIndicesAndOfItems) {
    EXPECT_EQ(chosen(80, {4, 8}), "grid:2");
    EXPECT_EQ(chosen(88, {4, 8}), "direct");
    EXPECT_EQ(chosen(80, {8, 4}), "grid:2");
    EXPECT_EQ(chosen(88, {8, 4}), "direct");
}

TEST(ArrayRouteRule, HasOneRouteWhereDirectIsCheapestAnyway) {
    for (const count_t num_requests : {count_t{0}, count_t{1} << 20})
        EXPECT_EQ(array_route_rule(topology::one_region(2), num_requests).route_for_next(),
                  "direct");
}

TEST(ArrayRouteRule, TakesDirectForFortyItemsInAMessageOnTheMachineAssumed) {
    EXPECT_EQ(array_route_rule(topology::from_string("4x4"), 16 * 32).route_for_next(),
              "locality:1");
    EXPECT_EQ(array_route_rule(topology::from_string("4x4"), 16 * 40).route_for_next(), "direct");
}

}  // namespace
}  // namespace crossdock::route_rule_test
