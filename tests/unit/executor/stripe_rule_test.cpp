#include "src/executor/task_graph.hpp"

#include <gtest/gtest.h>

namespace crossdock::stripe_rule_test {
namespace {

TEST(StripeRule, GivesEachStripeEnoughItems) {
    const stripe_rule rule(topology::from_string("2x4", 8), 10);

    EXPECT_EQ(rule.num_stripes(0, 4, 10), 1);
    EXPECT_EQ(rule.num_stripes(0, 4, 11), 2);
    EXPECT_EQ(rule.num_stripes(0, 4, 31), 4);
    EXPECT_EQ(rule.num_stripes(0, 4, 1000), 4);
}

TEST(StripeRule, SplitsNothingInsideADomain) {
    const stripe_rule rule(topology::from_string("2x4", 8), 1);

    EXPECT_EQ(rule.num_stripes(0, 3, 1000), 1);
}

TEST(StripeRule, HasNoMoreStripesThanTheSmallerDomainHasRanks) {
    const stripe_rule rule(topology::from_string("1,3,4", 8), 1);

    EXPECT_EQ(rule.num_stripes(0, 1, 1000), 1);
    EXPECT_EQ(rule.num_stripes(7, 2, 1000), 3);
}

TEST(StripeRule, GoesRoundTheRanksOfADomain) {
    const stripe_rule rule(topology::from_string("2x4", 8), 1);

    EXPECT_EQ(rule.sender(1, 0), 1);
    EXPECT_EQ(rule.sender(1, 2), 3);
    EXPECT_EQ(rule.receiver(6, 1), 7);
    EXPECT_EQ(rule.receiver(6, 2), 4);
}

}  // namespace
}  // namespace crossdock::stripe_rule_test
