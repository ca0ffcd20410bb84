// The routes "auto" and "auto:measure" of a neighbor collective.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../pattern/checked_pattern.hpp"
#include "../select/plan_cache_mpi.hpp"
#include "crossdock/context.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief Whether a route is "auto" or "auto:measure".
bool is_automatic(std::string_view route) noexcept;

/// @brief A route that can be made, and why it is that one.
struct resolved_route {
    std::string name;
    std::optional<route_choice> choice = std::nullopt;  ///< none if the route was given
    bool is_measured = false;                           ///< the other candidates are to be tried
};

/// @brief The route that `options.route` stands for.
///
/// CROSSDOCK_FORCE_ROUTE overrules every route, and CROSSDOCK_ROUTE what "auto" stands for.
/// @param where       topologies and machines are equal on all ranks, as are `options`
/// @param options     those of the exchange: the route, who shares memory, the item's size
/// @param also_equal  arguments of the caller that are checked along with these, and what it makes
/// @param passes_over_slots  as in `estimate_options`; equal on all ranks
/// @param kept        as in `choose_route`
/// Collective: no if the route is given or forced, once the communicator's environment is
/// known. Otherwise yes: blocks, as `choose_route`; the first on a communicator also finds out the
/// nodes.
/// @throws error  on all ranks, as `choose_route` and `machine_of`; or as `make_route` for what
/// CROSSDOCK_ROUTE says
resolved_route resolve_route(const context& where, const checked_pattern& p,
                             const neighbor_options& options = {},
                             const equal_arguments& also_equal = equal_arguments("a plan"),
                             count_t passes_over_slots = 1, plan_lookup* kept = nullptr);

}  // namespace crossdock
