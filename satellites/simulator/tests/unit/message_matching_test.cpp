#include "satellites/simulator/src/message_matching.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace crossdock::message_matching_test {
namespace {

using outcome = message_matching::outcome;

// Rank 0 receives three messages, in its operations 0, 1 and 2.
schedule receives_of(std::initializer_list<matching_kind> kinds) {
    schedule s;
    s.begin_rank();
    operation receive;
    receive.kind = operation_kind::receive;
    for (const auto kind : kinds) {
        receive.matching = kind;
        s.add(receive);
    }
    return s;
}

constexpr auto posted = matching_kind::posted;
constexpr auto probed = matching_kind::probed;
constexpr auto known = matching_kind::known;

schedule three_receives() { return receives_of({posted, posted, posted}); }

TEST(MessageMatching, ARequestForAPostedReceiveTellsWhenTheMessageWasSent) {
    message_matching m(three_receives());
    m.send(0, 70);
    EXPECT_EQ(m.post(0, 0), outcome::waits);

    EXPECT_EQ(m.request(0, 0), 70);
    EXPECT_TRUE(m.arrive(0, 0));
    EXPECT_EQ(m.num_passed(0), 0U);
}

TEST(MessageMatching, ALateReceiveFindsTheRequestAndTheMessageSearchesNoMore) {
    message_matching m(three_receives());
    EXPECT_EQ(m.request(0, 1), std::nullopt);
    EXPECT_EQ(m.request(0, 0), std::nullopt);
    EXPECT_EQ(m.post(0, 2), outcome::waits);

    EXPECT_EQ(m.post(0, 0), outcome::may_come);
    EXPECT_TRUE(m.arrive(0, 0));

    EXPECT_EQ(m.num_passed(0), 1U);
}

TEST(MessageMatching, NothingSearchesForWhatIsKnown) {
    message_matching m(receives_of({known, known, posted, known}));
    EXPECT_FALSE(m.arrive(0, 0));
    EXPECT_EQ(m.post(0, 0), outcome::has_come);
    EXPECT_EQ(m.post(0, 1), outcome::waits);
    EXPECT_TRUE(m.arrive(0, 1));
    EXPECT_EQ(m.request(0, 3), std::nullopt);

    EXPECT_EQ(m.post(0, 2), outcome::waits);
    EXPECT_TRUE(m.arrive(0, 2));
    EXPECT_EQ(m.num_passed(2), 0U);
    EXPECT_EQ(m.post(0, 3), outcome::may_come);
}

TEST(MessageMatching, ItemsInSharedMemoryAreKnown) {
    schedule s;
    s.begin_rank();
    operation receive;
    receive.kind = operation_kind::receive;
    receive.is_hand_over = true;
    s.add(receive);
    receive.is_hand_over = false;
    s.add(receive);
    message_matching m(s);
    EXPECT_FALSE(m.arrive(0, 0));
    EXPECT_FALSE(m.arrive(0, 1));

    EXPECT_EQ(m.post(0, 1), outcome::has_come);
    EXPECT_EQ(m.num_passed(1), 0U);
}

TEST(MessageMatching, AMessageThatIsProbedForSearchesNoPostedReceives) {
    message_matching m(receives_of({posted, probed, probed, probed}));
    for (std::uint32_t k = 0; k < 4; ++k) EXPECT_EQ(m.post(0, k), outcome::waits);

    for (const std::uint32_t k : {3, 1, 2}) {
        EXPECT_TRUE(m.arrive(0, k));
        EXPECT_EQ(m.num_passed(k), 0U);
    }
}

TEST(MessageMatching, ProbesTakeTheFirstMessageAndPassThoseOfOtherTags) {
    message_matching m(receives_of({probed, probed, probed, posted}));
    for (const std::uint32_t k : {2, 3, 0}) EXPECT_FALSE(m.arrive(0, k));
    std::vector<std::uint32_t> released{0, 1, 2};

    m.sort_by_arrival(released);

    EXPECT_EQ(released, (std::vector<std::uint32_t>{1, 2, 0}));
    EXPECT_EQ(m.post(0, 1), outcome::waits);
    EXPECT_EQ(m.post(0, 2), outcome::has_come);
    EXPECT_EQ(m.num_passed(2), 0U);
    EXPECT_EQ(m.post(0, 0), outcome::has_come);
    EXPECT_EQ(m.num_passed(0), 1U);
    EXPECT_TRUE(m.arrive(0, 1));
    EXPECT_EQ(m.num_passed(1), 1U);
}

TEST(MessageMatching, AProbeFindsTheRequestOfALongMessage) {
    message_matching m(receives_of({probed, posted}));
    m.send(0, 70);
    EXPECT_FALSE(m.arrive(0, 1));
    EXPECT_EQ(m.post(0, 0), outcome::waits);

    EXPECT_EQ(m.request(0, 0), 70);
    EXPECT_TRUE(m.arrive(0, 0));
    EXPECT_EQ(m.num_passed(0), 1U);
}

}  // namespace
}  // namespace crossdock::message_matching_test
