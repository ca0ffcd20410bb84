/// @file
/// @brief What the benchmarks exchange, as the one rank that reads it sees it.
#pragma once

#include <string>
#include <vector>

#include "crossdock/topology.hpp"
#include "tools/inputs/halo.hpp"

namespace crossdock {

/// @brief A matrix and its owners: the exchange is the halo of y = A x.
struct workload {
    sparse_matrix matrix;
    partition owners;
};

/// @brief Reads a matrix, or makes a pattern of small messages.
///
/// `dense:K`: every rank sends K items to every other rank. A rank has K items for each region; all
/// the ranks of the region need them, each of another region K others.
///
///     dense:1, "2x2"    rank 0 owns items 0 (for ranks 0 1) and 1 (for ranks 2 3); rank 1: 2 and 3
///     …
///
/// `random:K`: every rank needs one item of each of K other ranks, which nobody else needs. The
/// partners are random, always the same for K and the number of ranks.
/// @param file            a Matrix Market file, `dense:K` or `random:K`
/// @param partition_spec  as `make_partition`; dense and random patterns have their own and take
///                        only "block"
/// @throws as `read_matrix_market` and `make_partition`
/// @throws error(errc::invalid_argument)  K is not a positive number or too large, or such a
/// pattern gets a partition
workload load_workload(const std::string& file, const std::string& partition_spec,
                       const topology& regions);

/// @brief The partition of a file for which none is given: the owners that `write_pattern` wrote beside it,
/// else "block".
std::string default_partition(const std::string& file);

/// @brief The bytes of an item that `write_pattern` wrote into a file; 8 where it did not.
count_t recorded_item_bytes(const std::string& file);

/// @brief The value of x that belongs to a column.
double column_value(count_t column) noexcept;

/// @brief What a row adds to every column that it has an entry in: an integer, so that no sum of
/// them depends on its order.
double row_weight(count_t row) noexcept;

/// @brief The sum of every column's `row_weight`s, serially.
std::vector<double> serial_column_sums(const sparse_matrix& matrix);

/// @brief y = A x with `column_value`, serially.
std::vector<double> serial_product(const sparse_matrix& matrix);

}  // namespace crossdock
