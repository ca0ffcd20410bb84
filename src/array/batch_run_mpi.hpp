// One batch of a distributed array, from requests to replies.
#pragma once

#include <memory_resource>

#include "batch_route.hpp"
#include "crossdock/detail/array/array_engine_mpi.hpp"

namespace crossdock {

/// @brief What a batch works on.
struct batch_setup {
    const communicator& comm;
    const batch_route& routing;
    const combining_options& combine;
    std::byte* entries;
    std::size_t item_bytes;
    std::pmr::memory_resource* memory;
};

class batch_transport;

/// @brief A number for the kinds of requests and the operations of a batch, which must be the same
/// on all ranks.
std::int64_t vote_of(const array_batch& batch);

/// @brief What is meant by that, in the text of an error.
inline constexpr const char* what_differs = "kinds of requests or operations";

/// @brief What a batch was.
struct batch_result {
    array_statistics statistics;  ///< of this rank
    count_t most_requests = 0;  ///< that a rank had when its own were combined; equal on all ranks
};

/// @brief Carries a batch out.
/// Collective; blocks.
/// @throws as `distributed_array`
batch_result run_batch(const batch_setup& setup, const array_batch& batch,
                       batch_transport& transport);

/// @brief Sends requests to their owners and makes a plan of how they travelled.
/// @param fault  this rank's, if it has any: it fails on all
/// Collective; blocks.
plan plan_requests(const batch_setup& setup, std::span<const count_t> indices,
                   const std::optional<error>& fault, batch_transport& transport);

}  // namespace crossdock
