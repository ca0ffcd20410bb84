/// @file
/// @brief Partitions by METIS, which may be missing.
#pragma once

#include <vector>

#include "crossdock/types.hpp"
#include "matrix.hpp"

namespace crossdock {

/// @brief Owners of rows and, behind them if the matrix is rectangular, of columns.
using owner_list = std::vector<rank_t>;

inline count_t num_owners(const sparse_matrix& matrix) {
    return matrix.num_rows + (matrix.is_square() ? 0 : matrix.num_columns);
}

/// @brief The partitions `metis` and `metis:entries`, as `make_partition` has them.
/// @param balances_entries  not the rows, but their entries are in balance
/// @throws error(errc::invalid_argument)  this build has no METIS
/// @throws error(errc::count_overflow)    the graph does not fit the integers of METIS
owner_list metis_owners(const sparse_matrix& matrix, rank_t num_ranks, bool balances_entries);

}  // namespace crossdock
