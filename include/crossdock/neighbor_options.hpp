/// @file
/// @brief What a user may choose about a neighbor exchange.
#pragma once

#include <cstddef>
#include <string>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/select/route_trials.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The executor that stands for the one that suits.
inline constexpr const char* automatic_executor = "auto";

/// @brief Which directions of a neighbor exchange are made ready when it is made.
///
/// To make a direction ready, ranks that share memory tell each other where their items will lie.
enum class preparation {
    both,     ///< forward and reverse exchanges
    forward,  ///< forward exchanges only; reverse ones need a call of `prepare`
    lazy,  ///< the first start of a direction, or with another size of items, makes it ready, and blocks
};

/// @brief How a neighbor exchange is set up; equal on all ranks.
struct neighbor_options {
    /// As `make_route` takes it; or "auto": what CROSSDOCK_ROUTE says, and else the cheapest that
    /// `choose_route` finds; or "auto:measure", which tries the cheapest few. CROSSDOCK_FORCE_ROUTE
    /// overrules all of them.
    std::string route = "auto";
    /// An item whose destinations share the next hop is sent there once.
    bool deduplicate = true;
    /// Longer messages are sent in parts of at most this many bytes, but at least one item; 0 is
    /// the default.
    std::size_t max_message_bytes = std::size_t{1} << 30;
    /// What runs the plan: a name of `registered_executors`. "persistent": MPI's persistent
    /// requests for every message. "shared_memory": ranks that share memory read and write each
    /// other's items. "auto": what CROSSDOCK_EXECUTOR says, and else "shared_memory" where ranks
    /// share memory and enough of it is left.
    std::string executor = automatic_executor;
    /// Bytes of the items that exchanges are made ready for, such as 4 for `float`; 0 is the
    /// default.
    std::size_t item_bytes = 8;
    /// A message between nodes is split over the ranks of its two nodes, so that each carries at
    /// least this many bytes of it; 0: none is, nor if `executor` is `persistent`.
    std::size_t stripe_bytes = 0;
    /// What is made ready now.
    preparation prepare = preparation::both;
    /// What the route "auto:measure" may cost.
    measure_options measure = {};
};

}  // namespace crossdock
