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

TEST(Validate, RefusesWhatIsWrong) {
    const auto expect = [](errc code, auto&& spoil) {
        pattern p = small_pattern();
        spoil(p);
        const error fault = thrown_by([&] { validate(p); });
        EXPECT_EQ(fault.code(), code) << fault.what();
        EXPECT_EQ(fault.rank(), p.rank);
    };

    expect(errc::rank_out_of_range, [](pattern& p) { p.rank = 8; });
    expect(errc::rank_out_of_range, [](pattern& p) { p.sends.append(12, counts{}); });
    expect(errc::rank_out_of_range, [](pattern& p) { p.receives.ranks[0] = -2; });
    expect(errc::index_out_of_range, [](pattern& p) { p.sends.indices[1] = 3; });
    expect(errc::index_out_of_range, [](pattern& p) { p.receives.indices[1] = -1; });
    expect(errc::invalid_argument, [](pattern& p) { p.receives.indices[1] = 1; });
    expect(errc::invalid_argument, [](pattern& p) { p.sends.offsets[1] = 3; });
    expect(errc::size_mismatch, [](pattern& p) { p.sends.offsets[2] = 3; });
    expect(errc::size_mismatch, [](pattern& p) { p.receives.offsets.clear(); });
    expect(errc::invalid_argument, [](pattern& p) { p.num_slots = -1; });
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
    EXPECT_EQ(pattern_from_neighbor_alltoallv(0, 1, {}), pattern{});
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

TEST(FromNeighborAlltoallv, RefusesWhatMakesNoPattern) {
    using example = alltoallv_example;
    const auto code_of = [](auto&& spoil) {
        example changed;
        spoil(changed);
        return thrown_by([&] { changed.build(); }).code();
    };

    EXPECT_EQ(code_of([](example& e) { e.send_ids.assign(2, 70); }), errc::size_mismatch);
    EXPECT_EQ(code_of([](example& e) { e.send_counts.pop_back(); }), errc::size_mismatch);
    EXPECT_EQ(code_of([](example& e) { e.receive_counts[0] = -3; }), errc::invalid_argument);
    EXPECT_EQ(code_of([](example& e) { e.send_displacements[1] = -1; }), errc::invalid_argument);
    EXPECT_EQ(code_of([](example& e) {
                  e.receive_displacements[0] = std::numeric_limits<count_t>::max() - 2;
              }),
              errc::count_overflow);
    EXPECT_EQ(code_of([](example& e) {
                  e.sources.push_back(2);
                  e.receive_counts.push_back(1);
                  e.receive_displacements.push_back(4);  // as the last of rank 0
              }),
              errc::invalid_argument);
    EXPECT_EQ(code_of([](example& e) { e.destinations[0] = 4; }), errc::rank_out_of_range);
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
