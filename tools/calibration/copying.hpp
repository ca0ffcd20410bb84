/// @file
/// @brief What rank 0 takes to copy, while the others sleep.
#pragma once

#include <vector>

#include "fit.hpp"
#include "measuring.hpp"

namespace crossdock {

/// @brief The time to copy one run, by its bytes.
/// @return the same on all ranks
/// @par Collective
/// Yes; blocks.
std::vector<timed_amount> measure_copying(MPI_Comm comm, double seconds);

/// @brief The time to gather items of 8 bytes as the executor does, by 32-bit offsets in any order, by their
/// number.
/// @return the same on all ranks
/// @par Collective
/// Yes; blocks.
std::vector<timed_amount> measure_gathering(MPI_Comm comm, double seconds);

}  // namespace crossdock
