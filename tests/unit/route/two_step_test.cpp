#include "src/route/members.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace crossdock::two_step_test {
namespace {

using ranks = std::vector<rank_t>;

TEST(TwoStep, TravelsAsTheSmallExampleDraws) {
    const auto r = make_route("two_step", topology::from_string("2x2"));

    EXPECT_EQ(test::path(*r, 0, 1), (ranks{0, 1, 1}));
    EXPECT_EQ(test::path(*r, 0, 2), (ranks{0, 2, 2}));
    EXPECT_EQ(test::path(*r, 0, 3), (ranks{0, 2, 3}));
}

TEST(TwoStep, TakesTheCounterpartModuloTheRegionsSize) {
    const auto r = make_route("two_step", topology::from_string("5,2"));

    EXPECT_EQ(test::path(*r, 3, 5), (ranks{3, 6, 5}));
    EXPECT_EQ(test::path(*r, 4, 6), (ranks{4, 5, 6}));
    EXPECT_EQ(test::path(*r, 6, 4), (ranks{6, 1, 4}));
}

TEST(TwoStep, GoesByRegionWhateverTheOrderOfRanks) {
    const auto r = make_route("two_step", topology::from_string("cyclic:2x3"));

    EXPECT_EQ(test::path(*r, 2, 5), (ranks{2, 3, 5}));
    EXPECT_EQ(test::path(*r, 2, 4), (ranks{2, 4, 4}));
}

TEST(TwoStep, BoundsMessagesByRegionsAndTheLargestRegion) {
    EXPECT_EQ(max_messages_by_region(topology::from_string("8x16")), 7 + 2 * 15);
    EXPECT_EQ(max_messages_by_region(topology::from_string("2,5,3")), 2 + 2 * 4);
    EXPECT_EQ(max_messages_by_region(topology::one_region(1)), 0);
    EXPECT_EQ(make_route("two_step", topology::from_string("4x4"))->max_messages_per_rank(), 9);
}

}  // namespace
}  // namespace crossdock::two_step_test
