#include "src/simulator/message_matching.hpp"

#include <gtest/gtest.h>

namespace crossdock::message_matching_test {
namespace {

using outcome = message_matching::outcome;

// Rank 0 receives three messages, in its operations 0, 1 and 2.
schedule three_receives() {
    schedule s;
    s.begin_rank();
    operation receive;
    receive.kind = operation_kind::receive;
    for (int k = 0; k < 3; ++k) s.add(receive);
    return s;
}

TEST(MessageMatching, AMessagePassesTheReceivesThatWaitBeforeItsOwn) {
    message_matching m(three_receives());
    for (std::uint32_t k = 0; k < 3; ++k) EXPECT_EQ(m.post(0, k, false), outcome::waits);

    EXPECT_TRUE(m.arrive(0, 2, false));
    EXPECT_TRUE(m.arrive(0, 1, false));
    EXPECT_TRUE(m.arrive(0, 0, false));

    EXPECT_EQ(m.num_passed(2), 2U);
    EXPECT_EQ(m.num_passed(1), 1U);
    EXPECT_EQ(m.num_passed(0), 0U);
}

TEST(MessageMatching, ALateReceivePassesTheMessagesThatCameBeforeItsOwn) {
    message_matching m(three_receives());
    for (std::uint32_t k = 0; k < 3; ++k) EXPECT_FALSE(m.arrive(0, k, false));

    EXPECT_EQ(m.post(0, 1, false), outcome::has_come);
    EXPECT_EQ(m.post(0, 2, false), outcome::has_come);

    EXPECT_EQ(m.num_passed(1), 1U);
    EXPECT_EQ(m.num_passed(2), 1U);
}

TEST(MessageMatching, ARequestForAPostedReceiveTellsWhenTheMessageWasSent) {
    message_matching m(three_receives());
    m.send(0, 70);
    EXPECT_EQ(m.post(0, 0, false), outcome::waits);

    EXPECT_EQ(m.request(0, 0), 70);
    EXPECT_TRUE(m.arrive(0, 0, false));
    EXPECT_EQ(m.num_passed(0), 0U);
}

TEST(MessageMatching, ALateReceiveFindsTheRequestAndTheMessageSearchesNoMore) {
    message_matching m(three_receives());
    EXPECT_EQ(m.request(0, 1), std::nullopt);
    EXPECT_EQ(m.request(0, 0), std::nullopt);
    EXPECT_EQ(m.post(0, 2, false), outcome::waits);

    EXPECT_EQ(m.post(0, 0, false), outcome::may_come);
    EXPECT_TRUE(m.arrive(0, 0, false));

    EXPECT_EQ(m.num_passed(0), 1U);
}

TEST(MessageMatching, NothingSearchesForItemsInSharedMemory) {
    message_matching m(three_receives());
    EXPECT_FALSE(m.arrive(0, 0, true));
    EXPECT_EQ(m.post(0, 0, true), outcome::has_come);
    EXPECT_EQ(m.post(0, 1, true), outcome::waits);
    EXPECT_TRUE(m.arrive(0, 1, true));

    EXPECT_EQ(m.post(0, 2, false), outcome::waits);
    EXPECT_TRUE(m.arrive(0, 2, false));
    EXPECT_EQ(m.num_passed(2), 0U);
}

}  // namespace
}  // namespace crossdock::message_matching_test
