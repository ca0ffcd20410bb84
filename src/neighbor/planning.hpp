/// @file
/// @brief What compiling a plan over MPI keeps from one call to the next.
#pragma once

#include <optional>
#include <string>

#include "../plan/plan_compiler.hpp"
#include "compile_mpi.hpp"

namespace crossdock {

/// @brief A plan, and the peers it was compiled with if that was asked for.
struct compilation {
    std::unique_ptr<route> r;
    std::optional<plan> compiled;
    peer_sets peers;
};

/// @brief As `compile`; also keeps the peers.
compilation compile_and_keep_peers(const context& where, const pattern& p,
                                   std::string_view route_name, const compile_options& options,
                                   std::int64_t also_equal);

/// @brief The name of a route, where "auto" may stand for one; for an exchange with default
/// options.
/// @par Collective
/// As `resolve_route`.
/// @throws error  as `resolve_route`
std::string resolve_automatic(const context& where, const pattern& p, std::string_view route_name,
                              const compile_options& options, std::int64_t also_equal = 0);

}  // namespace crossdock
