#include "tools/calibration/peers.hpp"

#include <gtest/gtest.h>

namespace crossdock::peers_test {
namespace {

using ranks = std::vector<rank_t>;

rank_layout layout_of(const char* regions, const char* nodes) {
    return {topology::from_string(regions), topology::from_string(nodes)};
}

// Regions {0 1} {2 3} {4 5}, nodes {0 1 2 3} {4 5}.
const rank_layout uneven = layout_of("2,2,2", "4,2");

TEST(Peers, AreTheNextRanksOfTheLevelOnAndAround) {
    EXPECT_EQ(peers_of(uneven, 1, locality_level::region, 9), (ranks{0}));
    EXPECT_EQ(peers_of(uneven, 1, locality_level::node, 9), (ranks{2, 3}));
    EXPECT_EQ(peers_of(uneven, 3, locality_level::node, 1), (ranks{0}));
    EXPECT_EQ(peers_of(uneven, 3, locality_level::network, 9), (ranks{4, 5}));
    EXPECT_EQ(peers_of(uneven, 5, locality_level::network, 3), (ranks{0, 1, 2}));
    EXPECT_EQ(peers_of(uneven, 4, locality_level::node, 9), ranks{});
}

TEST(Peers, PairsAndCountsLeaveOutRanksThatAreAlone) {
    const auto pair = find_pair(uneven, locality_level::node);
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->first, 0);
    EXPECT_EQ(pair->second, 2);
    EXPECT_EQ(count_ranks_with_peers(uneven, locality_level::node), 4);
    EXPECT_EQ(count_ranks_with_peers(uneven, locality_level::network), 6);
}

TEST(Peers, LevelsAreFoundFromNearToFar) {
    using levels = std::vector<locality_level>;
    EXPECT_EQ(levels_with_peers(uneven),
              (levels{locality_level::region, locality_level::node, locality_level::network}));
    EXPECT_EQ(levels_with_peers(layout_of("2x1", "1x2")), levels{locality_level::node});
    EXPECT_EQ(levels_with_peers(layout_of("1", "1")), levels{});
}

TEST(Peers, BurstsTakeTheirPeersInTurn) {
    EXPECT_EQ(burst_of(uneven, 1, locality_level::node, 5), (ranks{2, 3, 2, 3, 2}));
    EXPECT_EQ(burst_of(uneven, 4, locality_level::node, 5), ranks{});
}

// Rank 0 has 7 others in a region of 8, and too few in a region of 2.
TEST(Peers, LongestBurstHasAMessageForEachOfSeveralPeers) {
    EXPECT_EQ(burst_counts(layout_of("1x8", "1x8"), locality_level::region),
              (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(burst_counts(uneven, locality_level::region),
              (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
}

}  // namespace
}  // namespace crossdock::peers_test
