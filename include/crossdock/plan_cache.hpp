/// @file
/// @brief A cache of compiled plans, for patterns that come again.
#pragma once

#include <memory>
#include <string_view>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/plan/kept_plans.hpp"
#include "crossdock/route_choice.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Compiles plans, and keeps the most recent ones for patterns that come again.
///
/// The cache finds a plan if all ranks call with the same pattern, topology, route and options as
/// when they compiled it. It compares them, and not only their hashes. If the pattern of one rank
/// is new, all ranks compile.
///
///     plan_cache plans(world);
///     plans.compile(world, a, "three_step");    compiles
///     plans.compile(world, b, "three_step");    compiles
///     plans.compile(world, a, "three_step");    finds the first plan; costs one reduction
///
/// With the route "auto" the ranks first choose a route, and find the plan if they compiled it
/// along that route.
///
/// The cache keeps a copy of each pattern. Several `neighbor_exchange` objects may use one plan.
/// @par Thread safety
/// As `neighbor_exchange`.
class plan_cache {
  public:
    /// @param comm      the communicator of a context; stays open for the life of this object
    /// @param capacity  the number of plans to keep, at most `kept_plans::max_capacity`; equal on
    ///          all ranks
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_argument)  on all ranks: `capacity` is out of range, or differs
    ///          between ranks
    explicit plan_cache(const communicator& comm, int capacity = 8);

    /// @brief Finds or compiles this rank's plan, which is the one that `compile` gives.
    /// @param where  a context that has the communicator of the constructor
    /// @return the same object as before if the cache finds the plan
    /// @par Collective
    /// Yes; blocks. One reduction of a word. With "auto" also `resolve_route` and another
    /// reduction; if the cache does not find the plan also `compile`.
    /// @throws error  on all ranks, as `compile`; the cache then keeps nothing new
    /// @par Complexity
    /// Linear in the pattern, which is compared.
    [[nodiscard]] std::shared_ptr<const plan> compile(const context& where, const pattern& p,
                                                      std::string_view route_name = automatic_route,
                                                      const compile_options& options = {});

    /// @brief The number of plans that the cache holds.
    int num_kept() const noexcept { return kept_.num_kept(); }

  private:
    communicator comm_;
    kept_plans kept_;
};

}  // namespace crossdock
