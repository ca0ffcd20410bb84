/// @file
/// @brief What a sparse data exchange sends: of one rank, and of all ranks without MPI.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What one rank sent in an exchange; a copy to itself is no message, and neither is what is
/// handed over in memory.
struct exchange_traffic {
    count_t messages = 0;
    count_t message_bytes = 0;  ///< with the envelopes that name sources and destinations
    count_t inter_region_messages = 0;
    count_t inter_region_message_bytes = 0;

    friend bool operator==(const exchange_traffic&, const exchange_traffic&) = default;
};

/// @brief How long a message is to whom; for counting, not for sending.
struct sized_message {
    rank_t destination = 0;
    count_t bytes = 0;
};

/// @brief What every rank sends in an exchange, without any MPI.
///
/// Exactly what `exchange_options::sent` of each rank would say.
///
///     "2x2", one message of 8 bytes from 0 to 3; a bundle has 48 bytes and 16 for every envelope
///
///     nonblocking            0: 8 to 3
///     locality_nonblocking   0: 48 to 1, 72 to 2    1: 48 to 0    2: 72 to 3    3: 48 to 2
///
/// @param messages             entry p for rank p: what it sends, in any order, destinations may
///                             repeat
/// @param regions              of `shared_memory` the nodes
/// @param max_forwarded_bytes  of `exchange_options`; `auto_max_forwarded_bytes` under "auto"
/// @param m                    chooses the route inside the regions, for algorithms by region
/// @return entry p for rank p
/// @throws error(errc::size_mismatch)      there are not as many entries as ranks
/// @throws error(errc::rank_out_of_range)  a destination is not a rank
/// @throws error(errc::invalid_argument)   a count of bytes is negative, or messages differ in size of a
/// method that `takes_one_size_only`
/// @throws as `make_route`, for `routed`
/// @par Complexity
/// Memory linear in the messages. Time linear in the hops of all messages, and in the partners of all ranks on the
/// route: P^2 for `routed:direct`.
std::vector<exchange_traffic> count_exchange(
    const topology& regions, std::span<const std::vector<sized_message>> messages,
    const exchange_algorithm& algorithm,
    count_t max_forwarded_bytes = std::numeric_limits<count_t>::max(),
    const machine& m = default_machine());

/// @brief `exchange_traffic`, field by field over all ranks.
struct exchange_traffic_summary {
    summary messages;
    summary message_bytes;
    summary inter_region_messages;
    summary inter_region_message_bytes;

    friend bool operator==(const exchange_traffic_summary&,
                           const exchange_traffic_summary&) = default;
};

/// @brief Sum, maximum and mean of every field.
exchange_traffic_summary summarize(std::span<const exchange_traffic> per_rank);

/// @brief The 8-byte words that every rank gives to the collective over all ranks by which the
/// algorithm finds sources.
///
/// MPI reduces them in messages of its own, which `exchange_traffic` does not have. 0 means that
/// there is no collective.
///
/// | method | words |
/// |---|---|
/// | `personalized`, `locality_personalized` | P + 6; 6 where `num_sources` is given to the former |
/// | `reduce_scatter` | 6 P; 6 where `num_sources` is given |
/// | `nonblocking`, `locality_nonblocking` | 6 |
/// | `rma` | 6, and 6 more each time that the window is made larger |
/// | `rma_fence`, `locality_rma` | 6 |
/// | `shared_memory`, `routed` | 0 |
/// @return the words where `num_sources` is not given and the window is large enough
count_t reduction_words(const exchange_algorithm& algorithm, rank_t num_ranks);

}  // namespace crossdock
