/// @file
/// @brief Partitions of a matrix: the owner of each row and of each column.
#pragma once

#include <string_view>
#include <vector>

#include "crossdock/types.hpp"
#include "matrix.hpp"

namespace crossdock {

/// @brief The owners for y = A x: row owners hold rows of A and entries of y, column owners entries
/// of x.
///
///     5 rows, 2 ranks, "block":  row_owner 0 0 0 1 1
struct partition {
    rank_t num_ranks = 1;
    std::vector<rank_t> row_owner;
    std::vector<rank_t> column_owner;  ///< equals `row_owner` if the matrix is square

    friend bool operator==(const partition&, const partition&) = default;
};

/// @brief Partitions a matrix among ranks.
///
/// | spec | owners |
/// |---|---|
/// | `block` | contiguous blocks as equal as possible, larger ones first; columns likewise |
/// | `metis` | METIS_PartGraphKway of the graph of A + A', or of rows and columns if rectangular |
/// | `metis:entries` | the same, with the entries of rows in balance instead of their number |
/// | `random:SEED` | drawn independently with std::mt19937_64; the same on all platforms |
/// | `file:PATH` | one owner per row (then per column if rectangular), separated by white space |
///
/// The path of an existing file is a spec as well. If there are no more rows (or rows and columns)
/// than ranks, `metis` gives each of them a rank of its own.
/// @throws error(errc::invalid_argument)   an unknown spec, or `num_ranks` < 1
/// @throws error(errc::file_error)         the file is missing or unreadable
/// @throws error(errc::parse_error)        the file contains something other than numbers
/// @throws error(errc::size_mismatch)      the file has too few or too many owners
/// @throws error(errc::rank_out_of_range)  an owner in the file is outside [0, num_ranks)
/// @throws error(errc::count_overflow)     the graph does not fit the integers of METIS
partition make_partition(const sparse_matrix& matrix, std::string_view spec, rank_t num_ranks);

}  // namespace crossdock
