/// @file
/// @brief Ranks at places of a route that suit the pattern, over MPI.
#pragma once

#include <memory>

#include "crossdock/communicator.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief As the overload for the patterns of all ranks, with the same result.
/// @param p  this rank's pattern
/// @pre `r.wants_places()`, and the arguments are right and equal on all ranks
/// @par Collective
/// Yes; blocks. Rank 0 gathers who has how many items for whom, searches, and broadcasts the
/// places, while the others wait. Two gathers, a broadcast, a reduction and four agreements.
/// @throws error(errc::count_overflow)  on all ranks: there are 2^31 pairs or more
/// @par Complexity
/// Rank 0 has all pairs of a source and a destination, 16 bytes for each, besides what searching
/// takes; every rank has two numbers for each rank.
std::unique_ptr<route> place_ranks(const communicator& comm, const pattern& p, const route& r,
                                   const compile_options& options);

}  // namespace crossdock
