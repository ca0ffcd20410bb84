/// @file
/// @brief One rank's part of a workload, and how it gets it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "crossdock/communicator.hpp"
#include "tools/inputs/workload.hpp"

namespace crossdock::bench {

/// @brief What one rank exchanges, and the rows of y = A x that it computes with it.
///
///     rank 1 of [ 1 1 . . ]    item_columns  2 3    row_offsets  0 1 3
///               [ . 1 . . ]    slot_columns  1      entries      0 | 2 1   (items, then slots)
///               [ . . 1 . ]             slot_items    1        rows         2 3
///               [ . 1 . 1 ]
struct share {
    pattern exchange;
    std::vector<count_t> item_columns;  ///< the global column of every item
    std::vector<count_t> slot_columns;  ///< the global column of every slot
    std::vector<count_t> slot_items;    ///< the item that fills every slot, as its owner counts
    std::vector<count_t> rows;          ///< the global row of every row of this rank
    std::vector<count_t> row_offsets;   ///< of this rank's rows
    std::vector<count_t> entries;       ///< the item, or the number of items + the slot
    std::vector<double> values;
    std::vector<double> expected;     ///< this rank's rows of the serial product
    std::vector<double> column_sums;  ///< this rank's items of the serial column sums
};

/// @brief Cuts a workload into the shares of all ranks.
std::vector<share> cut(const workload& work);

/// @brief Rank 0 loads the workload, cuts it, and sends every rank its share.
/// @par Collective
/// Yes; blocks. Only rank 0 ever holds more than one share.
/// @throws error  as `load_workload`, on all ranks
share distribute(const communicator& comm, const std::string& file,
                 const std::string& partition_spec, const topology& regions);

/// @brief The same for several workloads, which `load` gives on rank 0; elsewhere it is not called.
/// @par Collective
/// Yes; blocks. Rank 0 cuts them one by one.
/// @throws error  as `load`, on all ranks
std::vector<share> distribute(const communicator& comm,
                              const std::function<std::vector<workload>()>& load);

/// @brief This rank's rows of y = A x; the entries of x are those of its items, then of its slots.
/// @pre y has an entry for each of the rows
void multiply(const share& part, std::span<const double> items, std::span<const double> slots,
              std::span<double> y);

/// @brief The same, in a vector of its own.
std::vector<double> product(const share& part, std::span<const double> items,
                            std::span<const double> slots);

/// @brief Adds the `row_weight`s of this rank's rows to their columns' items and slots.
/// @param items  `num_values` numbers per item, as in a slot; the k-th gets k times the weight, from
/// 1
void add_row_weights(const share& part, std::size_t num_values, std::span<double> items,
                     std::span<double> slots);

}  // namespace crossdock::bench
