/// @file
/// @brief Sparse data exchanges as schedules.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/exchange/exchange_statistics.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The tag of a message in the schedule, which says what the message is for.
enum exchange_tag : int {
    message_tag = 0,            ///< the user's message, or a bundle to another region
    announced_tag = 1,          ///< a long message, which travels directly beside a route
    ticket_tag = 2,             ///< a request for a ticket at a receiver's window, and the reply
    acknowledgement_tag = 3,    ///< an empty message: another one was received
    first_collective_tag = 16,  ///< rounds of a collective over all ranks, one tag each
    first_stage_tag = 256,      ///< stages of a route, one tag each
};

/// @brief Whether `count_exchange` counts a message with this tag.
constexpr bool is_counted(int tag) noexcept {
    return tag == message_tag || tag == announced_tag || tag >= first_stage_tag;
}

/// @brief The schedule of a sparse data exchange: what all ranks send, receive and copy.
///
/// Messages with a tag that `is_counted` are exactly those of `count_exchange`. The others are
///
/// | method | other messages |
/// |---|---|
/// | `personalized`, `locality_personalized` | an allreduce of P + 6 words, before any message |
/// | `reduce_scatter` | a reduce-scatter of 6 P words, before any message |
/// | `nonblocking`, `locality_nonblocking` | an acknowledgement of every message; an allreduce of 6 words |
/// | `rma` | 8 bytes to every receiver and back; an acknowledgement of every message; an allreduce of 6 words |
/// | `routed` | nothing |
///
/// A rank enters an allreduce after acknowledgements when all of its own have arrived.
/// An allreduce of up to 2048 bytes is recursive doubling. A longer one is recursive halving and
/// then doubling; a reduce-scatter is recursive halving. If the number of ranks is not a power of
/// two, some ranks first send their vector to a neighbor, and get the result from it in the end. A
/// rank copies what it reduces once. It gathers a bundle where it sends it.
///
/// The core of a window's owner hands out tickets and answers puts as if they were messages, as MPI
/// does where the network has no atomic operations. The schedule assumes that every window is large
/// enough, and does not divide messages of more than `exchange_options::max_message_bytes`.
/// @param messages, max_forwarded_bytes, m  as in `count_exchange`
/// @throws as `count_exchange`
/// @par Complexity
/// Time and memory linear in the messages; a collective has P log P of them.
/// @par Source
/// \cite thakur2005collective for the collectives; `exchange_algorithm` for the rest.
schedule schedule_of_exchange(const topology& regions,
                              std::span<const std::vector<sized_message>> messages,
                              const exchange_algorithm& algorithm,
                              count_t max_forwarded_bytes = std::numeric_limits<count_t>::max(),
                              const machine& m = default_machine());

}  // namespace crossdock
