#include "bench/neighbor/amg_matrix.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::bench::amg_matrix_test {
namespace {

// [ 2 5 . ]
// [ 3 2 . ]
// [ . 1 4 ], rows 0 and 2 on rank 1
workload small_workload() {
    workload result;
    result.matrix.num_rows = 3;
    result.matrix.num_columns = 3;
    result.matrix.row_offsets = {0, 2, 4, 6};
    result.matrix.columns = {0, 1, 0, 1, 1, 2};
    result.matrix.values = {2, 5, 3, 2, 1, 4};
    result.owners.num_ranks = 2;
    result.owners.row_owner = {1, 0, 1};
    result.owners.column_owner = {1, 0, 1};
    return result;
}

constexpr double surplus = 1.0 / 1024;
const std::vector<double> small_laplacian{2 + surplus, -1, -1, -1, 1 + surplus, -1, 1 + surplus};

TEST(AmgMatrix, RowsAreInTheOrderOfTheirOwners) {
    const auto [matrix, owners] = make_amg_matrix(small_workload());

    EXPECT_EQ(owners.num_ranks, 2);
    EXPECT_EQ(owners.row_owner, (std::vector<rank_t>{0, 1, 1}));
    EXPECT_EQ(owners.column_owner, owners.row_owner);
    EXPECT_EQ(matrix.row_offsets, (std::vector<count_t>{0, 2, 4, 6}));
    EXPECT_EQ(matrix.columns, (std::vector<count_t>{0, 1, 0, 1, 0, 2}));
    EXPECT_EQ(matrix.values, (std::vector<double>{2, 3, 5, 2, 1, 4}));
}

TEST(AmgMatrix, IsALaplacianWhereThereAreNoValues) {
    auto pattern = small_workload();
    pattern.matrix.field = matrix_field::pattern;

    const auto [matrix, owners] = make_amg_matrix(pattern);

    EXPECT_EQ(matrix.row_offsets, (std::vector<count_t>{0, 3, 5, 7}));
    EXPECT_EQ(matrix.columns, (std::vector<count_t>{0, 1, 2, 0, 1, 0, 2}));
    EXPECT_EQ(matrix.values, small_laplacian);
}

TEST(AmgMatrix, IsALaplacianWhereTheDiagonalHasAZeroOrAGap) {
    auto zero = small_workload();
    zero.matrix.values[3] = 0;
    auto gap = small_workload();
    gap.matrix.columns[5] = 0;
    std::swap(gap.matrix.columns[4], gap.matrix.columns[5]);

    EXPECT_EQ(make_amg_matrix(zero).matrix.values, small_laplacian);
    EXPECT_EQ(make_amg_matrix(gap).matrix.values,
              (std::vector<double>{2 + surplus, -1, -1, -1, 2 + surplus, -1, -1, -1, 2 + surplus}));
}

TEST(AmgMatrix, IsSquare) {
    auto wide = small_workload();
    wide.matrix.num_columns = 4;

    EXPECT_EQ(test::thrown_by([&] { make_amg_matrix(wide); }).code(), errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::bench::amg_matrix_test
