#include "crossdock/machine.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::locality_test {
namespace {

TEST(RankLayout, RegionsAreNodesUnlessOthersAreGiven) {
    const rank_layout layout(topology::from_string("2x2"));

    EXPECT_EQ(layout.level_of(1, 1), locality_level::self);
    EXPECT_EQ(layout.level_of(0, 1), locality_level::region);
    EXPECT_EQ(layout.level_of(1, 2), locality_level::network);
}

TEST(RankLayout, SocketsOfANodeAreNearerThanOtherNodes) {
    const rank_layout layout(topology::from_string("4x2"), topology::from_string("2x4"));

    EXPECT_EQ(layout.level_of(0, 1), locality_level::region);
    EXPECT_EQ(layout.level_of(0, 2), locality_level::node);
    EXPECT_EQ(layout.level_of(0, 4), locality_level::network);
}

TEST(RankLayout, ARegionOfSeveralNodesIsNotNear) {
    const rank_layout layout(topology::from_string("1x4"), topology::from_string("2x2"));

    EXPECT_EQ(layout.level_of(0, 1), locality_level::region);
    EXPECT_EQ(layout.level_of(1, 2), locality_level::network);
}

TEST(RankLayout, RefusesNodesOfAnotherNumberOfRanks) {
    const auto make = [] {
        rank_layout(topology::from_string("2x2"), topology::from_string("3x2"));
    };

    EXPECT_EQ(test::thrown_by(make).code(), errc::size_mismatch);
}

}  // namespace
}  // namespace crossdock::locality_test
