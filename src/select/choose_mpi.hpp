// The choice of a route, by all ranks together.
#pragma once

#include "../pattern/checked_pattern.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"
#include "crossdock/route_choice.hpp"
#include "plan_cache_mpi.hpp"

namespace crossdock {

/// @brief Chooses a route for this rank's pattern together with all other ranks; the collective
/// twin of `choose_route`.
///
/// @param layout  equal on all ranks, as are `m` and `options`
/// @param p       this rank's pattern
/// @param also_equal  arguments of the caller that are checked along with these, and what it makes
/// @param kept  if given, receives the plan that the ranks have kept with such a choice, if they have
/// one: then that choice is returned
/// @return the choice of `choose_route`, the same on all ranks
/// Collective; blocks. A sparse exchange of one message to every member of the region,
/// which also finds out whether arguments are equal and right; and one reduction, unless a plan is
/// found. The first on a
/// communicator takes one agreement more.
/// @throws error(errc::size_mismatch)     the layout, the pattern and the communicator disagree; on
/// all ranks
/// @throws error(errc::invalid_argument)  layouts, machines or options differ; on all ranks
/// @throws as `validate(pattern)`, on all ranks
/// Complexity: That of `route_estimator`; the reduction is of some words for each stage of each candidate.
route_choice choose_route(const communicator& comm, const rank_layout& layout,
                          const checked_pattern& p, const machine& m,
                          const estimate_options& options = {},
                          const equal_arguments& also_equal = equal_arguments("a choice of routes"),
                          plan_lookup* kept = nullptr);

}  // namespace crossdock
