/// @file
/// @brief Plans that are compiled once and found again.
#pragma once

#include <memory>
#include <string_view>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/plan/kept_plans.hpp"
#include "crossdock/route_choice.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Compiles plans, and keeps the last ones for patterns that come again.
///
/// A plan is found where all ranks bring what it was compiled from: equal patterns, topologies, routes and
/// options, which are compared and not only hashed. If one rank's pattern is new, all compile.
///
///     plan_cache plans(world);
///     plans.compile(world, a, "three_step");    compiles
///     plans.compile(world, b, "three_step");    compiles
///     plans.compile(world, a, "three_step");    the first plan again, for one reduction
///
/// Under the route "auto" a choice is made first, and the plan is found if it was compiled along that route.
///
/// It keeps a copy of each pattern. Give the plan to a `neighbor_exchange`, which may be used by several.
/// @par Thread safety
/// As `neighbor_exchange`.
class plan_cache {
  public:
    /// @param comm      a context's; stays open for the life of this object
    /// @param capacity  how many plans are kept, at most `kept_plans::max_capacity`; equal on all ranks
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_argument)  on all ranks: `capacity` is out of range, or differs
    explicit plan_cache(const communicator& comm, int capacity = 8);

    /// @brief This rank's plan, as `compile` gives it.
    /// @param where  shares the communicator of the constructor's
    /// @return the same object as before where it is found
    /// @par Collective
    /// Yes; blocks. One reduction of a word, and for "auto" one more besides `resolve_route`; and where the plan is not found, `compile`.
    /// @throws error  on all ranks, as `compile`; nothing is kept then
    /// @par Complexity
    /// Linear in the pattern, for comparing it.
    std::shared_ptr<const plan> compile(const context& where, const pattern& p,
                                        std::string_view route_name = automatic_route,
                                        const compile_options& options = {});

    /// @brief How many plans are kept.
    int num_kept() const noexcept { return kept_.num_kept(); }

  private:
    communicator comm_;
    kept_plans kept_;
};

}  // namespace crossdock
