/// @file
/// @brief The halo exchange of a distributed sparse matrix-vector product y = A x.
#pragma once

#include <vector>

#include "crossdock/pattern.hpp"
#include "crossdock/types.hpp"
#include "matrix.hpp"
#include "partition.hpp"

namespace crossdock {

/// @brief One rank's part of y = A x: its rows, its columns, and the exchange of ghost columns.
///
///     [ 1 1 . . ]   "block", 2 ranks    rank 0: owns rows and columns 0 1, no ghost
///     [ . 1 . . ]                               sends item 1 to 1
///     [ . . 1 . ]                       rank 1: owns rows and columns 2 3, ghost column 1
///     [ . 1 . 1 ]                               receives slot 0 from 0
struct halo {
    pattern exchange;                    ///< items are owned columns, slots are ghost columns
    std::vector<count_t> owned_rows;     ///< global rows, ascending
    std::vector<count_t> owned_columns;  ///< item i is global column `owned_columns[i]`; ascending
    std::vector<count_t> ghost_columns;  ///< slot j is global column `ghost_columns[j]`; sorted by
                                         ///< owner, then ascending

    friend bool operator==(const halo&, const halo&) = default;
};

/// @brief Makes the halo of every rank.
///
/// Ghost columns are those with an entry in the rank's rows that the rank does not own, each once.
/// Receives are sorted by source, sends by destination.
/// @return entry p for rank p
/// @throws error(errc::size_mismatch)      the partition is not as long as the matrix
/// @throws error(errc::rank_out_of_range)  an owner is outside [0, num_ranks)
/// @par Complexity
/// Linear in rows, columns, entries and ranks, and sorting of every rank's ghost columns.
std::vector<halo> halos_from_matrix(const sparse_matrix& matrix, const partition& owners);

}  // namespace crossdock
