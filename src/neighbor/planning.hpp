/// @file
/// @brief What compiling a plan over MPI keeps from one call to the next.
#pragma once

#include <optional>
#include <string>

#include "../exchange/peer_exchange_mpi.hpp"
#include "../plan/plan_compiler.hpp"
#include "compile_mpi.hpp"

namespace crossdock {

/// @brief A plan on which the ranks have not agreed yet, and the peers it was compiled with if that
/// was asked for.
struct compilation {
    std::unique_ptr<route> r = nullptr;
    std::shared_ptr<const plan> compiled =
        nullptr;                                ///< null where this rank has failed, or another
    std::optional<error> fault = std::nullopt;  ///< of this rank
    std::unique_ptr<peer_exchange> rounds = nullptr;  ///< lives until all have agreed
    peer_sets peers = {};

    /// @brief Throws where any rank has failed.
    /// @par Collective
    /// As `agree`.
    void agree_with(const communicator& comm);
};

/// @brief As `compile`, but nobody knows yet whether all ranks have a plan: who goes on says so in
/// the end, by `agree_with`.
compilation begin_compilation(const context& where, const pattern& p, std::string_view route_name,
                              const equal_arguments& also_equal, const compile_options& options);

/// @brief As `compile`; also keeps the peers.
compilation compile_and_keep_peers(const context& where, const pattern& p,
                                   std::string_view route_name, const compile_options& options,
                                   const equal_arguments& also_equal);

/// @brief The name of a route, where "auto" may stand for one; for an exchange with default
/// options.
/// @par Collective
/// As `resolve_route`.
/// @throws error  as `resolve_route`
std::string resolve_automatic(const context& where, const pattern& p, std::string_view route_name,
                              const compile_options& options,
                              const equal_arguments& also_equal = equal_arguments("a plan"));

}  // namespace crossdock
