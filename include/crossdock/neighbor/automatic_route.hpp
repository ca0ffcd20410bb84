/// @file
/// @brief The routes "auto" and "auto:measure" of a neighbor collective.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crossdock/neighbor/neighbor.hpp"
#include "crossdock/select/route_choice.hpp"

namespace crossdock {

/// @brief The route "auto:measure": the cheapest candidates of "auto" are tried, and the fastest is kept.
inline constexpr const char* measured_route = "auto:measure";

/// @brief Whether a route is "auto" or "auto:measure".
bool is_automatic(std::string_view route) noexcept;

/// @brief A route that can be made, and why it is that one.
struct resolved_route {
    std::string name;
    std::optional<route_choice> choice = std::nullopt;  ///< none if the route was given
    bool is_measured = false;                           ///< the other candidates are to be tried
};

/// @brief The route that stands for a name, if that is "auto" or "auto:measure"; or else the name.
///
/// CROSSDOCK_ROUTE in the environment of rank 0 overrules "auto"; it is read when that is asked for the
/// first time on a communicator.
/// @param regions     equal on all ranks, as are `route` and `options`
/// @param options     those of the exchange: who shares memory, the item's size, the machine
/// @param also_equal  a value of the caller's that is checked along with the arguments
/// @par Collective
/// No if the route is given. Otherwise yes: blocks, as `choose_route_mpi`; the first on a communicator also
/// finds out the environment, the machine and the nodes.
/// @throws error  on all ranks, as `choose_route_mpi` and `machine_of`; or as `make_route` for what
/// CROSSDOCK_ROUTE says when it is read
resolved_route resolve_route(const communicator& comm, const topology& regions, const pattern& p,
                             std::string_view route, const neighbor_options& options = {},
                             std::int64_t also_equal = 0);

}  // namespace crossdock
