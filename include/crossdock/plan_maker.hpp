/// @file
/// @brief Plans for patterns that change while their neighbors stay.
#pragma once

#include <memory>
#include <string_view>

#include "crossdock/compile.hpp"
#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/route_choice.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Compiles a plan, and then others for changed patterns with the same neighbors.
///
/// Who talks with whom in a stage follows from the neighbors, and is found once. A changed pattern then
/// takes one header to each of these peers and one reduction: nobody is searched for, and who speaks for a
/// region is not agreed anew.
///
///     rank 0 lists items for 2 and 3     make: any items for 2, 3, both or neither
///                                        make: an item for 1 is an error on all ranks
///
/// A destination may be listed without items, to have it among the neighbors.
///
/// The leaders of a balanced route stay those that suited the first pattern: where numbers of items
/// change, what they send and receive may no longer be balanced. Where they do not, the plan is the one
/// that `compile` gives. In the same way the route that "auto" stood for stays.
/// @par Thread safety
/// As `neighbor_exchange`.
class plan_maker {
  public:
    /// @brief Compiles the first plan.
    /// @param where     stays open for the life of this object; its topology is equal on all ranks
    /// @param first     this rank's pattern; its destinations are this rank's neighbors from now on
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

    /// @brief The plan of the pattern that was given last, unless that failed.
    const std::shared_ptr<const plan>& latest() const noexcept;

    /// @brief Compiles this rank's plan for a changed pattern.
    ///
    /// New neighbors are an error, not a reason to compile from the start: that takes several times as long
    /// and settles anew who speaks for a region. All ranks get the error, so that they may well do so.
    /// @param p  items and slots of any number; its destinations are among the first pattern's
    /// @return also `latest()`
    /// @par Collective
    /// Yes; blocks. A message to each peer of each stage, and one reduction.
    /// @throws error(errc::invalid_argument)  on all ranks: a rank sends to one that was no neighbor
    /// @throws error(errc::size_mismatch)     on all ranks: a pattern is of another rank or number of ranks
    /// @throws error(errc::count_mismatch)    on all ranks, as `compile`
    /// @throws as `validate(pattern)`, on all ranks
    /// Afterwards the object is as before.
    std::shared_ptr<const plan> make(const pattern& p);

  private:
    struct implementation;
    std::unique_ptr<implementation> state_;
};

}  // namespace crossdock
