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

/// @brief What the messages of an exchange are for, by their tags.
enum exchange_tag : int {
    message_tag = 0,            ///< what the user sends, or a bundle to another region
    announced_tag = 1,          ///< a long message beside a route
    ticket_tag = 2,             ///< a number drawn at a receiver's window, and the answer
    acknowledgement_tag = 3,    ///< a message was received: none of its bytes
    first_collective_tag = 16,  ///< rounds of a collective over all ranks, one tag each
    first_stage_tag = 256,      ///< stages of a route, one tag each
};

/// @brief Whether `count_exchange` counts a message with this tag.
constexpr bool is_counted(int tag) noexcept {
    return tag == message_tag || tag == announced_tag || tag >= first_stage_tag;
}

/// @brief What all ranks do in a sparse data exchange.
///
/// Messages with a tag that `is_counted` are exactly those of `count_exchange`. The others are
///
/// | method | besides |
/// |---|---|
/// | `personalized`, `locality_personalized` | an allreduce of P + 6 words, before any message |
/// | `reduce_scatter` | a reduce-scatter of 6 P words, before any message |
/// | `nonblocking`, `locality_nonblocking` | an acknowledgement of every message; an allreduce of 6 words, which a rank enters when all of its own are acknowledged |
/// | `rma` | 8 bytes to every receiver and back, before any message; an acknowledgement of every message; then an allreduce of 6 words |
/// | `routed` | nothing |
///
/// An allreduce of up to 2048 bytes is recursive doubling; a longer one halves the vector in every round
/// and puts it together again. A reduce-scatter halves it likewise. Where the ranks are no power of two,
/// some give theirs to a neighbor first and get the result from it. What is reduced is copied once.
/// Bundles are copied together where they are sent.
///
/// A window's owner draws tickets and answers puts like messages, with its core, as MPI does where the
/// network has no atomic operations; that the window is large enough is assumed. Messages of more than
/// `exchange_options::max_message_bytes` are not cut.
/// @param messages, max_forwarded_bytes, m  as in `count_exchange`
/// @throws as `count_exchange`
/// @par Complexity
/// Time and memory linear in the messages that are sent, P log P for a collective.
/// @par Source
/// \cite thakur2005collective for the collectives; `exchange_algorithm` for the rest.
schedule schedule_of_exchange(const topology& regions,
                              std::span<const std::vector<sized_message>> messages,
                              const exchange_algorithm& algorithm,
                              count_t max_forwarded_bytes = std::numeric_limits<count_t>::max(),
                              const machine& m = default_machine());

}  // namespace crossdock
