#include "crossdock/route/three_step.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace crossdock {
namespace {

using ranks = std::vector<rank_t>;

TEST(ThreeStep, GoesThroughTheMembersThatSpeak) {
    const auto regions = topology::from_string("2x2");
    const auto r = make_route("three_step", regions);
    const speaker_table speakers{.senders = {{1, 1}}, .receivers = {{1, 2}}};

    EXPECT_EQ(r->next_hop(0, 3, 0, speakers), 1);
    EXPECT_EQ(r->next_hop(1, 3, 0, speakers), 1);
    EXPECT_EQ(r->next_hop(1, 3, 1, speakers), 2);
    EXPECT_EQ(r->next_hop(2, 3, 2, {}), 3);
}

TEST(ThreeStep, StaysAtADestinationThatReceivesForItsRegion) {
    const auto regions = topology::from_string("2x2");
    const auto r = make_route("three_step", regions);

    EXPECT_EQ(r->next_hop(1, 2, 1, {.senders = {{1, 1}}, .receivers = {{1, 2}}}), 2);
    EXPECT_EQ(r->next_hop(2, 2, 2, {}), 2);
}

TEST(ThreeStep, GoesStraightInsideTheOwnRegion) {
    const auto regions = topology::from_string("cyclic:2x3");
    const auto r = make_route("three_step", regions);

    EXPECT_EQ(test::path(*r, regions, 1, 5), (ranks{1, 5, 5, 5}));
}

TEST(ThreeStep, HasTheBoundOfTwoStep) {
    const auto r = make_route("three_step", topology::from_string("8x16"));

    EXPECT_EQ(r->num_stages(), 3);
    EXPECT_EQ(r->max_messages_per_rank(), 7 + 2 * 15);
}

}  // namespace
}  // namespace crossdock
