/// @file
/// @brief The batches of all ranks, counted and planned in one process.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "crossdock/detail/array/array_statistics.hpp"
#include "crossdock/detail/array/combining.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief One rank's part of a batch of reads.
struct planned_batch {
    array_statistics statistics;  ///< without seconds
    /// What the batch does again, if it was asked for: forward are the replies, in reverse the
    /// requests.
    std::optional<plan> again;
};

/// @brief Sends the requests of all ranks to their owners, without MPI.
///
/// Items and messages are exactly those that the same batch has over MPI.
/// @param regions     P ranks
/// @param owners      of P ranks
/// @param route_name  as `make_route` takes it
/// @param indices     P lists, entry p of rank p; an index may occur repeatedly
/// @param with_plans  whether `again` is wanted
/// @return P entries, entry p of rank p
/// @par Collective
/// No; makes no MPI call.
/// @throws error(errc::size_mismatch)       `regions`, `owners` and `indices` differ in ranks
/// @throws error(errc::index_out_of_range)  an index is outside [0, num_entries)
/// @throws as `make_route`
/// @par Complexity
/// Linear in the requests of all ranks in all stages, and in the partners of all, which it holds at
/// one time: P^2 of them on `direct`. Part sizes that are given are kept for each rank.
std::vector<planned_batch> plan_batch(const topology& regions, const block_partition& owners,
                                      std::string_view route_name, const combining_options& options,
                                      std::span<const std::vector<count_t>> indices,
                                      bool with_plans);

}  // namespace crossdock
