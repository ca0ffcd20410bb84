#include "crossdock/pattern.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/thrown_by.hpp"

namespace crossdock::pattern_test {
namespace {

using test::thrown_by;
using counts = std::vector<count_t>;
using ranks = std::vector<rank_t>;

/// Rank 3 of 8 sends items 0 2 to 1 and nothing to 2; receives into slots 1 0 from 5.
pattern small_pattern() {
    pattern p{
        .rank = 3, .num_ranks = 8, .num_items = 3, .num_slots = 2, .sends = {}, .receives = {}};
    p.sends.append(1, counts{0, 2});
    p.sends.append(2, counts{});
    p.receives.append(5, counts{1, 0});
    return p;
}

void expect_fault(const pattern& p, errc code, const std::string& sentence) {
    const error fault = thrown_by([&] { validate(p); });

    EXPECT_EQ(fault.code(), code);
    EXPECT_EQ(fault.what(), sentence);
    EXPECT_EQ(fault.rank(), p.rank);
}

TEST(NeighborList, AppendedEntriesAreReadBack) {
    const pattern p = small_pattern();

    ASSERT_EQ(p.sends.size(), 2U);
    EXPECT_EQ(p.sends.ranks, (ranks{1, 2}));
    EXPECT_EQ(p.sends.offsets, (counts{0, 2, 2}));
    EXPECT_EQ(counts(p.sends[0].begin(), p.sends[0].end()), (counts{0, 2}));
    EXPECT_TRUE(p.sends[1].empty());
}

TEST(Validate, AcceptsPatternsThatAreEmptyOrHaveZeroCounts) {
    EXPECT_NO_THROW(validate(pattern{}));
    EXPECT_NO_THROW(validate(small_pattern()));
}

TEST(Validate, AcceptsOneItemForSeveralDestinationsOrTwiceForOne) {
    pattern p = small_pattern();
    p.sends.append(3, counts{2, 2});

    EXPECT_NO_THROW(validate(p));
}

TEST(Validate, NamesWhatIsWrong) {
    const auto expect = [](auto&& spoil, errc code, const std::string& sentence) {
        pattern p = small_pattern();
        spoil(p);
        expect_fault(p, code, sentence);
    };
    expect([](pattern& p) { p.rank = 8; }, errc::rank_out_of_range, "rank 8 is outside [0, 8)");
    expect([](pattern& p) { p.sends.append(12, counts{}); }, errc::rank_out_of_range,
           "destination 12 of source 3 is outside [0, 8)");
    expect([](pattern& p) { p.receives.ranks[0] = -2; }, errc::rank_out_of_range,
           "source -2 of destination 3 is outside [0, 8)");
    expect([](pattern& p) { p.sends.indices[1] = 3; }, errc::index_out_of_range,
           "item 3 of source 3 for destination 1 is outside [0, 3)");
    expect([](pattern& p) { p.receives.indices[1] = -1; }, errc::index_out_of_range,
           "slot -1 of destination 3 for source 5 is outside [0, 2)");
    expect([](pattern& p) { p.receives.indices[1] = 1; }, errc::invalid_argument,
           "slot 1 of destination 3 is filled twice; list each slot once");
    expect(
        [](pattern& p) {
            p.sends.offsets = {0, 3, 2};
        },
        errc::invalid_argument, "the offsets of source 3 decrease from 3 to 2");
    expect(
        [](pattern& p) {
            p.sends.offsets = {0, 2, 3};
        },
        errc::size_mismatch, "the offsets of source 3 run from 0 to 3, but it lists 2 items");
    expect([](pattern& p) { p.receives.offsets.clear(); }, errc::size_mismatch,
           "1 sources of destination 3 need 2 offsets, not 0");
    expect([](pattern& p) { p.num_slots = -1; }, errc::invalid_argument,
           "destination 3 has -1 slots");
}

/// Rank 1 of 4 sends positions 0 1 to 0, 4 5 to 2 and nothing to 3; receives 2 3 4 from 0.
struct alltoallv_example {
    ranks destinations{0, 2, 3};
    counts send_counts{2, 2, 0};
    counts send_displacements{0, 4, -7};
    ranks sources{0};
    counts receive_counts{3};
    counts receive_displacements{2};
    counts send_ids;

    pattern build() const {
        return pattern_from_neighbor_alltoallv(
            1, 4,
            {destinations, send_counts, send_displacements, sources, receive_counts,
             receive_displacements, send_ids});
    }
};

TEST(FromNeighborAlltoallv, ItemsAndSlotsArePositionsOfTheBuffers) {
    const pattern p = alltoallv_example{}.build();

    EXPECT_EQ(p.rank, 1);
    EXPECT_EQ(p.num_ranks, 4);
    EXPECT_EQ(p.num_items, 6);
    EXPECT_EQ(p.num_slots, 5);
    EXPECT_EQ(p.sends.ranks, (ranks{0, 2, 3}));
    EXPECT_EQ(p.sends.offsets, (counts{0, 2, 4, 4}));
    EXPECT_EQ(p.sends.indices, (counts{0, 1, 4, 5}));
    EXPECT_EQ(p.receives.ranks, (ranks{0}));
    EXPECT_EQ(p.receives.indices, (counts{2, 3, 4}));
}

TEST(FromNeighborAlltoallv, ARankWithoutNeighborsNeedsNoArrays) {
    const pattern p = pattern_from_neighbor_alltoallv(0, 1, {});

    EXPECT_EQ(p, pattern{});
}

TEST(FromNeighborAlltoallv, RepeatedNeighborsKeepTheirOrder) {
    alltoallv_example example;
    example.destinations = {2, 0, 2};

    const pattern p = example.build();

    EXPECT_EQ(p.sends.ranks, (ranks{2, 0, 2}));
}

TEST(FromNeighborAlltoallv, PositionsWithEqualIdsAreOneItem) {
    alltoallv_example example;
    example.send_ids = {70, 80, 80, 70, 80, 90};

    const pattern p = example.build();

    EXPECT_EQ(p.num_items, 6);
    EXPECT_EQ(p.sends.indices, (counts{0, 1, 1, 5}));
}

TEST(FromNeighborAlltoallv, NamesMissingIds) {
    alltoallv_example example;
    example.send_ids = {70, 80};

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::size_mismatch);
    EXPECT_STREQ(fault.what(),
                 "rank 1 gives 2 ids for a send buffer of 6 items; give one for each item");
    EXPECT_EQ(fault.rank(), 1);
}

TEST(FromNeighborAlltoallv, NamesArraysOfDifferentLength) {
    alltoallv_example example;
    example.send_counts.pop_back();

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::size_mismatch);
    EXPECT_STREQ(fault.what(),
                 "rank 1 gives 3 destinations, 2 counts and 3 displacements; give as many of each");
}

TEST(FromNeighborAlltoallv, NamesANegativeCount) {
    alltoallv_example example;
    example.receive_counts = {-3};

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "rank 1 gives source 0 count -3 and displacement 2; the least is 0");
}

TEST(FromNeighborAlltoallv, NamesANegativeDisplacement) {
    alltoallv_example example;
    example.send_displacements[1] = -1;

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(),
                 "rank 1 gives destination 2 count 2 and displacement -1; the least is 0");
}

TEST(FromNeighborAlltoallv, NamesABlockThatEndsBeyond64Bits) {
    alltoallv_example example;
    example.receive_displacements = {std::numeric_limits<count_t>::max() - 2};

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::count_overflow);
}

TEST(FromNeighborAlltoallv, NamesASlotThatTwoSourcesFill) {
    alltoallv_example example;
    example.sources = {0, 2};
    example.receive_counts = {3, 1};
    example.receive_displacements = {2, 4};

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "slot 4 of destination 1 is filled twice; list each slot once");
}

TEST(FromNeighborAlltoallv, NamesADestinationThatIsNoRank) {
    alltoallv_example example;
    example.destinations[0] = 4;

    const error fault = thrown_by([&] { example.build(); });

    EXPECT_EQ(fault.code(), errc::rank_out_of_range);
    EXPECT_STREQ(fault.what(), "destination 4 of source 1 is outside [0, 4)");
}

TEST(RenumberColumns, PutsGhostsBehindWhatIsOwned) {
    const auto found = renumber_columns(2, 2, counts{2, 1, 3, 3, 0});

    EXPECT_EQ(found.ghosts, (counts{0, 1}));
    EXPECT_EQ(found.columns, (counts{0, 3, 1, 1, 2}));
}

TEST(RenumberColumns, ListsAGhostOnceOnBothSides) {
    const auto found = renumber_columns(10, 3, counts{99, 10, 9, 13, 99, 12, 9});

    EXPECT_EQ(found.ghosts, (counts{9, 13, 99}));
    EXPECT_EQ(found.columns, (counts{5, 0, 3, 4, 5, 2, 3}));
}

TEST(RenumberColumns, NeedsNoEntriesAndNoOwnedColumns) {
    EXPECT_TRUE(renumber_columns(4, 2, counts{}).columns.empty());

    const auto found = renumber_columns(4, 0, counts{4, 3});
    EXPECT_EQ(found.ghosts, (counts{3, 4}));
    EXPECT_EQ(found.columns, (counts{1, 0}));
}

TEST(RenumberColumns, RefusesWhatIsNegative) {
    EXPECT_EQ(thrown_by([] {
                  return renumber_columns(0, 2, counts{0, -1});
              }).code(),
              errc::index_out_of_range);
    EXPECT_EQ(thrown_by([] { return renumber_columns(-1, 2, counts{}); }).code(),
              errc::invalid_argument);
    EXPECT_EQ(thrown_by([] { return renumber_columns(0, -2, counts{}); }).code(),
              errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::pattern_test
