// Hop-by-hop set-up over MPI.
#pragma once

#include <memory>

#include "../exchange/setup_rounds_mpi.hpp"
#include "../pattern/checked_pattern.hpp"
#include "../select/plan_cache_mpi.hpp"
#include "crossdock/context.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief Compiles this rank's plan together with all other ranks; the collective twin of
/// `compile`.
///
/// @param where    its topology is equal on all ranks
/// @param p        this rank's pattern
/// @param route_name  as `make_route` takes it, and then kept, whatever CROSSDOCK_FORCE_ROUTE says;
/// or "auto", which `resolve_route` resolves; equal on all ranks
/// @param also_equal  arguments of the caller that are checked along with these, and what it makes
/// @return this rank's plan, identical to the one `compile` gives
/// Collective; blocks. A sparse exchange, which also finds out whether arguments are equal
/// and right; one more for each further stage, or on a route with few messages, one to each
/// possible partner; two more for balanced routes; and an agreement. The first on a communicator
/// takes one agreement more.
/// @throws error  on all ranks, as `resolve_route` and `compile`; or error(errc::invalid_argument)
/// if topologies, routes or options differ between ranks; or error(errc::size_mismatch) if the
/// topology, the pattern
///         and the communicator disagree about the number of ranks
/// Complexity: Time, memory and messages follow what passes through this rank; nothing is of size P.
plan compile(const context& where, const checked_pattern& p,
             std::string_view route_name = automatic_route, const compile_options& options = {},
             const equal_arguments& also_equal = equal_arguments("a plan"));

/// @brief As `compile`; or the plan that exchanges of these ranks have compiled from equal arguments
/// before, if the context still has it.
std::shared_ptr<const plan> find_or_compile(const context& where, const checked_pattern& p,
                                            std::string_view route_name,
                                            const compile_options& options);

/// @brief A plan on which the ranks have not agreed yet.
struct compilation {
    explicit compilation(const context& where);
    /// @brief A plan that there is.
    compilation(const context& where, std::shared_ptr<const plan> given) : compilation(where) {
        take(std::move(given));
    }
    void take(std::shared_ptr<const plan> given) noexcept {
        compiled = std::move(given);
        num_stages = static_cast<int>(compiled->stages().size());
    }

    std::shared_ptr<const plan> compiled;  ///< null where this rank has failed, or another
    std::unique_ptr<setup_rounds> rounds;  ///< with this rank's fault; live until all have agreed
    int num_stages = 0;
    plan_lookup kept;  ///< where the plan was found, or will be kept

    /// @brief Throws where any rank has failed; if none has, keeps the plan.
    /// Collective as `agree`.
    void finish();
};

/// @brief As `compile`, but nobody knows yet whether all ranks have a plan: who goes on says so in
/// the end, by `finish`.
/// @param cache  where the plan may be found, or null
compilation begin_compilation(const context& where, const checked_pattern& p,
                              std::string_view route_name, const equal_arguments& also_equal,
                              const compile_options& options, plan_cache* cache);

}  // namespace crossdock
