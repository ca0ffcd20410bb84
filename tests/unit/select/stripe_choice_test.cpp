#include "src/select/stripe_choice.hpp"

#include <gtest/gtest.h>

#include "support/machines.hpp"

namespace crossdock::stripe_choice_test {
namespace {

// A rank sends a byte in 4 ns, a node in 1; another message costs 2000 ns, telling of it 2 x 200.
machine slow_ranks() {
    auto m = test::uniform_machine(1000, 10, 4);
    m.levels[static_cast<std::size_t>(locality_level::network)].rendezvous_bytes = 100;
    m.injection_seconds_per_byte = 1e-9;
    m.hand_over_seconds = 200e-9;
    return m;
}

TEST(StripeChoice, IsWhereSharingOutSavesMoreThanAStripeCosts) {
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 2), 1200);  // 2400 / (4 - 2)
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 4), 800);   // 2400 / (4 - 1)
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 64), 800);  // the node sends no faster
}

TEST(StripeChoice, IsNoneWhereTheNodeSendsNoFasterThanOneRank) {
    auto m = slow_ranks();
    EXPECT_EQ(suggest_stripe_bytes(m, 1), 0);
    m.injection_seconds_per_byte = 4e-9;
    EXPECT_EQ(suggest_stripe_bytes(m, 64), 0);
}

TEST(StripeChoice, CountsTheRanksThatSendAtATime) {
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 8, 2), 1200);  // 2400 / (4 - 2)
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 8, 4), 0);
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 8, 8), 0);
    EXPECT_EQ(suggest_stripe_bytes(slow_ranks(), 2, 2), 0);
}

TEST(StripeChoice, IsLongerThanWhatTravelsEagerly) {
    auto m = slow_ranks();
    m.levels[static_cast<std::size_t>(locality_level::network)].rendezvous_bytes = 5000;

    EXPECT_EQ(suggest_stripe_bytes(m, 4), 5001);
}

// 3.2e-11 s are saved of a byte, 5.6e-7 s are spent on a stripe.
TEST(StripeChoice, IsAFewPagesOnTheMachineAssumed) {
    EXPECT_EQ(suggest_stripe_bytes(default_machine(), 16), 17500);
}

}  // namespace
}  // namespace crossdock::stripe_choice_test
