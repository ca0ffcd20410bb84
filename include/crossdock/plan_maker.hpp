/// @file
/// @brief Compiles plans again for patterns whose items change while their neighbors stay.
#pragma once

#include <memory>
#include <string_view>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Compiles a plan, and then plans for other patterns with the same neighbors at less cost.
///
/// The neighbors determine the peers of every stage, which the first compilation finds. For another
/// pattern each rank sends one header to each of its peers and takes part in one reduction. The
/// ranks neither search for their peers nor agree on leaders again.
///
///     rank 0 lists items for 2 and 3     make: any items for 2, 3, both or neither
///                                        make: an item for 1 is an error on all ranks
///
/// The first pattern may list a destination without items, which makes it a neighbor.
///
/// The leaders of a balanced route are chosen for the first pattern. If the numbers of items
/// change, the leaders may no longer share the work evenly; if they stay equal, the plan is the one
/// that `compile` gives. The route that "auto" chose for the first pattern stays as well.
/// @par Thread safety
/// As `neighbor_exchange`.
class plan_maker {
  public:
    /// @brief Compiles the first plan.
    /// @param where       stays open for the life of this object; its topology is equal on all
    ///          ranks
    /// @param first       this rank's pattern; its destinations are this rank's neighbors from now
    ///          on
    /// @param route_name  as `compile` takes it; equal on all ranks
    /// @param also_equal  as in `compile`
    /// @par Collective
    /// Yes; blocks, as `compile`.
    /// @throws error  on all ranks, as `compile`
    plan_maker(const context& where, const pattern& first,
               std::string_view route_name = automatic_route, const compile_options& options = {},
               std::int64_t also_equal = 0);
    ~plan_maker();
    plan_maker(plan_maker&&) noexcept;
    plan_maker& operator=(plan_maker&&) noexcept;

    /// @brief The plan that was compiled last.
    const std::shared_ptr<const plan>& latest() const noexcept;

    /// @brief Compiles this rank's plan for a changed pattern.
    ///
    /// A new neighbor is an error. This object does not compile from the start by itself, as that
    /// takes several times as long and chooses other leaders. All ranks get the error, so that they
    /// can do so together.
    /// @param p  a pattern with any number of items and slots, whose destinations are destinations
    ///          of the first one
    /// @return the plan, which is also `latest()`
    /// @par Collective
    /// Yes; blocks. A message to each peer of each stage, and one reduction.
    /// @throws error(errc::invalid_argument)  on all ranks: a rank sends to one that is not its
    ///          neighbor
    /// @throws error(errc::size_mismatch)     on all ranks: a pattern is for another rank or number
    ///          of ranks
    /// @throws error(errc::count_mismatch)    on all ranks, as `compile`
    /// @throws as `validate(pattern)`, on all ranks After an error the object is as before.
    [[nodiscard]] std::shared_ptr<const plan> make(const pattern& p);

  private:
    struct CROSSDOCK_HIDDEN implementation;
    std::unique_ptr<implementation> state_;
};

}  // namespace crossdock
