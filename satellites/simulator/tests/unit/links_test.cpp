#include "satellites/simulator/src/links.hpp"

#include <gtest/gtest.h>

namespace crossdock::links_test {
namespace {

const topology& two_nodes() {
    static const topology nodes = topology::from_string("2x2");
    return nodes;
}

constexpr link_times inside{10, 0, false};
constexpr link_times between{10, 30, true};

TEST(Links, MessagesOfARankLeaveOneAfterTheOther) {
    links l(two_nodes());

    EXPECT_EQ(l.leave(0, 5, inside), 5);
    EXPECT_EQ(l.leave(0, 5, inside), 15);
    EXPECT_EQ(l.leave(0, 100, inside), 100);
    EXPECT_EQ(l.leave(1, 5, inside), 5);
}

TEST(Links, RanksOfANodeShareItsLinkToOtherNodes) {
    links l(two_nodes());

    EXPECT_EQ(l.leave(0, 0, between), 0);
    EXPECT_EQ(l.leave(1, 0, between), 30);
    EXPECT_EQ(l.leave(1, 0, inside), 40);
    EXPECT_EQ(l.leave(2, 0, between), 0);
}

TEST(Links, MessagesArriveOneAfterTheOther) {
    links l(two_nodes());

    EXPECT_EQ(l.arrive(0, 5, inside), 15);
    EXPECT_EQ(l.arrive(0, 5, inside), 25);
    EXPECT_EQ(l.arrive(1, 5, inside), 15);
}

TEST(Links, TheSlowerOfRankAndNodeDecidesWhenAMessageIsThere) {
    links l(two_nodes());

    EXPECT_EQ(l.arrive(0, 0, between), 30);
    EXPECT_EQ(l.arrive(1, 0, between), 60);
    EXPECT_EQ(l.arrive(2, 0, {50, 30, true}), 50);
}

TEST(Links, OutAndInAreNotTheSameLink) {
    links l(two_nodes());

    EXPECT_EQ(l.leave(0, 0, between), 0);
    EXPECT_EQ(l.arrive(0, 0, between), 30);
}

}  // namespace
}  // namespace crossdock::links_test
