/// @file
/// @brief Ranks at places of a route that suit the pattern, over MPI.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../exchange/setup_rounds_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief What rank 0 has to know of this rank's pattern: who has how many items for whom.
std::vector<word_message> traffic_for_first(const pattern& p);

/// @brief As the overload for the patterns of all ranks, with the same result.
/// @param rounds   in which the arguments were found right and equal
/// @param traffic  on rank 0, what came of `traffic_for_first` of all ranks
/// @param p        this rank's pattern
/// @pre `r.wants_places()`
/// @par Collective
/// Yes; blocks. Rank 0 searches, and broadcasts the places, while the others wait; and a reduction.
/// @throws error  on all ranks: a rank has failed
/// @par Complexity
/// Rank 0 has all pairs of a source and a destination, besides what searching takes; every rank has two numbers for
/// each rank.
std::unique_ptr<route> place_ranks(const communicator& comm, setup_rounds& rounds,
                                   std::span<const word_message> traffic, const pattern& p,
                                   const route& r, const compile_options& options);

}  // namespace crossdock
