/// @file
/// @brief What compiling a plan over MPI keeps from one call to the next.
#pragma once

#include <optional>
#include <string>

#include "../exchange/setup_rounds_mpi.hpp"
#include "../select/plan_cache_mpi.hpp"
#include "compile_mpi.hpp"

namespace crossdock {

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
    /// @par Collective
    /// As `agree`.
    void finish();
};

/// @brief As `compile`, but nobody knows yet whether all ranks have a plan: who goes on says so in
/// the end, by `finish`.
/// @param cache  where the plan may be found, or null
compilation begin_compilation(const context& where, const checked_pattern& p,
                              std::string_view route_name, const equal_arguments& also_equal,
                              const compile_options& options, plan_cache* cache);

}  // namespace crossdock
