/// @file
/// @brief The algorithms of a sparse data exchange.
#pragma once

#include <functional>
#include <span>

#include "exchange_state_mpi.hpp"
#include "mailbox_mpi.hpp"
#include "shared_send_buffers.hpp"

namespace crossdock {

/// @brief Adds what came to `task.found`, and agrees on all votes in passing.
/// @return whether they are good, the same on all ranks; what came is worthless otherwise
/// @par Collective
/// Yes; waits for all ranks.
using exchange_function = std::function<bool(const exchange_task& task)>;

/// @brief Sums a vector with a count for every rank, sends, and receives as many as were counted.
/// @par Complexity
/// P + 6 words are reduced; 6 where the number of sources is known.
bool exchange_by_allreduce(const exchange_task& task);

/// @brief As above, but every rank gets its own sum only, of 6 P words.
bool exchange_by_reduce_scatter(const exchange_task& task);

/// @brief Sends synchronously; a reduction that a rank enters once its messages are received tells
/// that all are.
bool exchange_by_consensus(const exchange_task& task);

/// @brief Adds messages that have arrived to `task.found`, receives those that were only announced, and
/// waits until what this rank sends is under way no longer.
void take_arrived(const exchange_task& task, std::span<const envelope> arrived);

/// @brief Carries messages over a route: a bundle to and from every partner in every stage.
/// @param max_forwarded_bytes  a longer message travels directly, and is only announced
bool exchange_routed(const exchange_task& task, const kept_route& way, count_t max_forwarded_bytes);

/// @brief Hands messages over in memory inside the nodes; one message from every node to every other.
/// @param send_buffers         of this rank's node
/// @param max_forwarded_bytes  a longer message to another node travels directly, and is only announced
bool exchange_by_node(const exchange_task& task, const topology& nodes,
                      shared_send_buffers& send_buffers, count_t max_forwarded_bytes);

/// @brief One message for each other region that messages go to, then inside the regions.
/// @param across  finds the messages between regions
/// @param inside  from `exchange_state::inside_region`
bool exchange_by_region(const exchange_task& task, const kept_route& inside,
                        const exchange_function& across);

}  // namespace crossdock
