#include "tools/inputs/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support.hpp"

namespace crossdock::partition_test {
namespace {

using test::read_data;
using test::temporary_file;
using test::thrown_by;
using ranks = std::vector<rank_t>;

sparse_matrix empty_matrix(count_t num_rows, count_t num_columns) {
    sparse_matrix m;
    m.num_rows = num_rows;
    m.num_columns = num_columns;
    m.row_offsets.assign(static_cast<std::size_t>(num_rows) + 1, 0);
    return m;
}

/// Two rings of `length` vertices, joined by one entry in the upper triangle.
sparse_matrix two_rings(count_t length) {
    sparse_matrix m = empty_matrix(2 * length, 2 * length);
    for (count_t row = 0; row < m.num_rows; ++row) {
        const count_t first = row / length * length;
        m.columns.push_back(first + (row - first + 1) % length);
        if (row == 0) m.columns.push_back(length);
        m.row_offsets[static_cast<std::size_t>(row) + 1] = static_cast<count_t>(m.columns.size());
    }
    m.values.assign(m.columns.size(), 1.0);
    return m;
}

void expect_covers(const partition& owners, const sparse_matrix& m, rank_t num_ranks) {
    EXPECT_EQ(owners.num_ranks, num_ranks);
    EXPECT_EQ(static_cast<count_t>(owners.row_owner.size()), m.num_rows);
    EXPECT_EQ(static_cast<count_t>(owners.column_owner.size()), m.num_columns);
    for (const ranks* list : {&owners.row_owner, &owners.column_owner}) {
        EXPECT_TRUE(std::all_of(list->begin(), list->end(),
                                [&](rank_t rank) { return rank >= 0 && rank < num_ranks; }));
    }
}

TEST(BlockPartition, TheFirstBlocksAreTheLargerOnes) {
    const partition owners = make_partition(empty_matrix(8, 8), "block", 3);

    EXPECT_EQ(owners.row_owner, (ranks{0, 0, 0, 1, 1, 1, 2, 2}));
    EXPECT_EQ(owners.column_owner, owners.row_owner);
}

TEST(BlockPartition, RowsAndColumnsOfARectangleAreDividedApart) {
    const partition owners = make_partition(empty_matrix(3, 5), "block", 2);

    EXPECT_EQ(owners.row_owner, (ranks{0, 0, 1}));
    EXPECT_EQ(owners.column_owner, (ranks{0, 0, 0, 1, 1}));
}

TEST(MetisPartition, CutsTheGraphWhereItIsThin) {
    const sparse_matrix m = two_rings(50);

    const partition owners = make_partition(m, "metis", 2);

    EXPECT_EQ(std::set(owners.row_owner.begin(), owners.row_owner.begin() + 50).size(), 1U);
    EXPECT_EQ(std::set(owners.row_owner.begin() + 50, owners.row_owner.end()).size(), 1U);
    EXPECT_NE(owners.row_owner.front(), owners.row_owner.back());
    EXPECT_EQ(owners.column_owner, owners.row_owner);
}

// A ring of 10 rows with 4 entries each, and one of 40 rows with one entry each.
TEST(MetisPartition, BalancesEntriesWhereThatIsAskedFor) {
    sparse_matrix m = empty_matrix(50, 50);
    for (count_t row = 0; row < m.num_rows; ++row) {
        const bool is_heavy = row < 10;
        for (count_t step = 1; step <= (is_heavy ? 4 : 1); ++step)
            m.columns.push_back(is_heavy ? (row + step) % 10 : 10 + (row - 10 + step) % 40);
        m.row_offsets[static_cast<std::size_t>(row) + 1] = std::ssize(m.columns);
    }
    m.values.assign(m.columns.size(), 1.0);

    const ranks by_rows = make_partition(m, "metis", 2).row_owner;
    const ranks by_entries = make_partition(m, "metis:entries", 2).row_owner;

    EXPECT_EQ(std::ranges::count(by_rows, by_rows.front()), 25);
    EXPECT_EQ(std::ranges::count(by_entries, by_entries.front()), 10);
    EXPECT_EQ(std::set(by_entries.begin(), by_entries.begin() + 10).size(), 1U);
}

TEST(MetisPartition, WorksForAnyNumberOfRanks) {
    for (const count_t length : {3, 8}) {
        const sparse_matrix m = two_rings(length);
        for (rank_t num_ranks = 1; num_ranks <= 20; ++num_ranks) {
            expect_covers(make_partition(m, "metis", num_ranks), m, num_ranks);
        }
    }
}

TEST(MetisPartition, DividesRowsAndColumnsOfARectangle) {
    for (const char* name : {"D_10", "lp_woodw"}) {
        const sparse_matrix m = read_data(name);
        for (const rank_t num_ranks : {1, 3, 64}) {
            expect_covers(make_partition(m, "metis", num_ranks), m, num_ranks);
        }
    }
}

TEST(MetisPartition, WorksWithoutEntriesOrRows) {
    for (const count_t length : {0, 1, 40}) {
        const sparse_matrix m = empty_matrix(length, length);

        expect_covers(make_partition(m, "metis", 3), m, 3);
        expect_covers(make_partition(m, "metis:entries", 3), m, 3);
    }
}

TEST(MetisPartition, NamesAGraphThatIsTooLarge) {
    sparse_matrix m = empty_matrix(1, 1);
    m.num_columns = count_t{1} << 40;

    EXPECT_EQ(thrown_by([&] { make_partition(m, "metis", 2); }).code(), errc::count_overflow);
}

TEST(RandomPartition, IsTheSameOnAllPlatforms) {
    const partition owners = make_partition(empty_matrix(3, 5), "random:1", 7);

    EXPECT_EQ(owners.row_owner, (ranks{2, 2, 4}));
    EXPECT_EQ(owners.column_owner, (ranks{5, 2, 0, 6, 4}));
}

TEST(FilePartition, ReadsOneOwnerPerRow) {
    const temporary_file file("1\n0\n 2\t1");

    const partition owners = make_partition(empty_matrix(4, 4), "file:" + file.path(), 3);

    EXPECT_EQ(owners.row_owner, (ranks{1, 0, 2, 1}));
    EXPECT_EQ(owners.column_owner, owners.row_owner);
}

TEST(FilePartition, ReadsRowsThenColumnsOfARectangle) {
    const temporary_file file("1\n0\n2\n1\n1\n");

    const partition owners = make_partition(empty_matrix(2, 3), file.path(), 3);

    EXPECT_EQ(owners.row_owner, (ranks{1, 0}));
    EXPECT_EQ(owners.column_owner, (ranks{2, 1, 1}));
}

TEST(MakePartition, RefusesWhatIsNone) {
    const sparse_matrix m = empty_matrix(2, 2);
    const auto code_of = [&](const std::string& spec, rank_t num_ranks) {
        return thrown_by([&] { make_partition(m, spec, num_ranks); }).code();
    };

    EXPECT_EQ(code_of("scotch", 1), errc::invalid_argument);
    EXPECT_EQ(code_of("block", 0), errc::invalid_argument);
    for (const std::string seed : {"", "x", "1x", "-1", "99999999999999999999"})
        EXPECT_EQ(code_of("random:" + seed, 2), errc::invalid_argument) << seed;
    EXPECT_EQ(code_of("file:/nowhere", 1), errc::file_error);
    EXPECT_EQ(code_of(temporary_file("0 0 0").path(), 1), errc::size_mismatch);
    EXPECT_EQ(code_of(temporary_file("0 1.5").path(), 2), errc::parse_error);
    EXPECT_EQ(code_of(temporary_file("0 8").path(), 8), errc::rank_out_of_range);
}

}  // namespace
}  // namespace crossdock::partition_test
