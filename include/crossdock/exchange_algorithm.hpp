/// @file
/// @brief The algorithms of a sparse data exchange, by name, and the choice of one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How ranks find out who sends to them.
enum class exchange_method {
    personalized,           ///< a reduction of P counts, then messages
    nonblocking,            ///< synchronous sends and nonblocking consensus
    rma,                    ///< a ticket and a put for every message; messages of one size only
    rma_fence,              ///< a put at the sender's own place, between fences; of one size only
    locality_personalized,  ///< one message per destination region, found as by `personalized`
    locality_nonblocking,   ///< one message per destination region, found as by `nonblocking`
    locality_rma,           ///< one message per destination region, put there as by `rma_fence`
    reduce_scatter,         ///< as `personalized`, but every rank gets its own count only
    shared_memory,          ///< in memory inside a node, one message from every node to every other
    routed,                 ///< over a route whose partners are known: nobody has to be found
};

/// @brief Whether a method exchanges messages of one size only: those that it puts into windows.
constexpr bool takes_one_size_only(exchange_method method) noexcept {
    return method == exchange_method::rma || method == exchange_method::rma_fence;
}

/// @brief A method, and for `routed` the route.
struct exchange_algorithm {
    exchange_method method = exchange_method::nonblocking;
    std::string route;  ///< as `make_route` takes it; empty for all others

    friend bool operator==(const exchange_algorithm&, const exchange_algorithm&) = default;
};

/// @brief One line of the list of algorithms.
struct exchange_description {
    std::string name;                  ///< as `parse_exchange_algorithm` takes it
    std::vector<std::string> aliases;  ///< other names the field has for it
    std::string summary;
    exchange_method method;
    std::string example = name;  ///< with a route for `routed`
};

/// @brief Every method there is; `routed` takes a route after a colon.
const std::vector<exchange_description>& registered_exchange_algorithms();

/// @brief The algorithm with a name or an alias: "personalized", "nbx", "routed:grid:2".
/// @throws error(errc::invalid_argument)  there is none; the text lists the names. The route of `routed` is looked at
/// by `make_route` only.
exchange_algorithm parse_exchange_algorithm(std::string_view name);

/// @brief The name that `parse_exchange_algorithm` reads back.
std::string to_string(const exchange_algorithm& algorithm);

/// @brief What `auto` takes on these ranks: the cheapest route for messages that carry nothing. No communication.
///
/// Where all ranks share memory, `auto` asks for one region, whatever the regions are: none is far. There, and on
/// `three_step` if the regions are the nodes, it takes `shared_memory` after some exchanges.
///
/// A routed exchange needs no reduction over all ranks: it sends as few messages as a barrier, and they carry the data.
/// What a rank has to send does not matter, and so need not be agreed on: few messages ride with those that are sent
/// anyway, and a long one is only announced on the route and travels directly (`exchange_options`).
/// @param m  equal on all ranks
/// @par Complexity
/// Time O(R + log^2 P) for R regions.
exchange_algorithm choose_exchange_algorithm(const topology& regions,
                                             const machine& m = default_machine());

/// @brief What one rank sent in an exchange; a copy to itself is no message, and neither is what is
/// handed over in memory.
struct exchange_traffic {
    count_t messages = 0;
    count_t message_bytes = 0;  ///< with the envelopes that name sources and destinations
    count_t inter_region_messages = 0;
    count_t inter_region_message_bytes = 0;

    friend bool operator==(const exchange_traffic&, const exchange_traffic&) = default;
};

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

/// @brief The 8-byte words that every rank gives to the collective over all ranks by which the algorithm finds sources.
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
