#include "crossdock/block_partition.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/thrown_by.hpp"

namespace crossdock::block_partition_test {
namespace {

using test::thrown_by;

constexpr count_t greatest_count = std::numeric_limits<count_t>::max();

std::vector<rank_t> owners_of(const block_partition& parts) {
    std::vector<rank_t> result;
    for (count_t index = 0; index < parts.num_entries(); ++index)
        result.push_back(parts.owner(index));
    return result;
}

// Of all ranks, and the end.
std::vector<count_t> firsts_of(const block_partition& parts) {
    std::vector<count_t> result;
    for (rank_t rank = 0; rank <= parts.num_ranks(); ++rank) result.push_back(parts.first(rank));
    return result;
}

TEST(BlockPartition, BlocksDifferByOneAndLargerOnesComeFirst) {
    const auto parts = block_partition::blocks(11, 4);
    const auto few = block_partition::blocks(3, 5);

    EXPECT_EQ(owners_of(parts), (std::vector<rank_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3}));
    EXPECT_EQ(firsts_of(parts), (std::vector<count_t>{0, 3, 6, 9, 11}));
    EXPECT_EQ(parts.size(0), 3);
    EXPECT_EQ(parts.size(3), 2);
    EXPECT_EQ(owners_of(few), (std::vector<rank_t>{0, 1, 2}));
    EXPECT_EQ(firsts_of(few), (std::vector<count_t>{0, 1, 2, 3, 3, 3}));
}

TEST(BlockPartition, NoEntriesAreOnNoRank) {
    for (const auto& parts :
         {block_partition::blocks(0, 3), block_partition::from_sizes({0, 0, 0})}) {
        EXPECT_EQ(parts.num_entries(), 0);
        EXPECT_EQ(firsts_of(parts), (std::vector<count_t>{0, 0, 0, 0}));
    }
}

TEST(BlockPartition, BlocksReachTheGreatestIndex) {
    const auto parts = block_partition::blocks(greatest_count, 3);

    EXPECT_EQ(parts.first(3), greatest_count);
    EXPECT_EQ(parts.owner(greatest_count - 1), 2);
    for (const rank_t rank : {1, 2}) {
        EXPECT_EQ(parts.owner(parts.first(rank)), rank);
        EXPECT_EQ(parts.owner(parts.first(rank) - 1), rank - 1);
    }
}

TEST(BlockPartition, GivenSizesMayBeZeroAnywhere) {
    const auto parts = block_partition::from_sizes({0, 4, 0, 0, 1, 0});

    EXPECT_EQ(parts.num_entries(), 5);
    EXPECT_EQ(parts.num_ranks(), 6);
    EXPECT_EQ(owners_of(parts), (std::vector<rank_t>{1, 1, 1, 1, 4}));
    EXPECT_EQ(firsts_of(parts), (std::vector<count_t>{0, 0, 4, 4, 4, 5, 5}));
}

TEST(BlockPartition, OwnersOfBlocksAreThoseOfTheSameSizes) {
    for (const rank_t num_ranks : {1, 2, 5, 8}) {
        for (const count_t num_entries : {0, 1, 4, 5, 7, 8, 40, 41}) {
            const auto blocks = block_partition::blocks(num_entries, num_ranks);
            std::vector<count_t> sizes;
            for (rank_t rank = 0; rank < num_ranks; ++rank) sizes.push_back(blocks.size(rank));
            const auto given = block_partition::from_sizes(sizes);

            EXPECT_EQ(owners_of(blocks), owners_of(given));
            EXPECT_EQ(firsts_of(blocks), firsts_of(given));
        }
    }
}

TEST(BlockPartition, RefusesWhatIsNoPartition) {
    const auto code_of_blocks = [](count_t num_entries, rank_t num_ranks) {
        return thrown_by([&] { return block_partition::blocks(num_entries, num_ranks); }).code();
    };
    const auto code_of_sizes = [](const std::vector<count_t>& sizes) {
        return thrown_by([&] { return block_partition::from_sizes(sizes); }).code();
    };

    EXPECT_EQ(code_of_blocks(-1, 2), errc::invalid_argument);
    EXPECT_EQ(code_of_blocks(1, 0), errc::invalid_argument);
    EXPECT_EQ(code_of_sizes({}), errc::invalid_argument);
    EXPECT_EQ(code_of_sizes({3, -1, 2}), errc::invalid_argument);
    EXPECT_EQ(code_of_sizes({greatest_count - 1, 1, 0, 1}), errc::count_overflow);
}

}  // namespace
}  // namespace crossdock::block_partition_test
