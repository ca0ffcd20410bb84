/// @file
/// @brief Rounds of measurements, by two ranks or by all.
#pragma once

#include <functional>
#include <vector>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Two ranks that measure together, or one that does so alone.
struct rank_pair {
    rank_t first = 0;
    rank_t second = 0;

    bool is_alone() const noexcept { return first == second; }
};

/// @brief Completes a request; yields the core while it waits.
void wait_for(MPI_Request& request);
void wait_for(std::vector<MPI_Request>& requests);

/// @brief Waits for all ranks; yields the core.
void meet(MPI_Comm comm);

/// @brief Rounds of all cases by two ranks, while all others sleep.
/// @param seconds  for all rounds together; there is at least one
/// @param measure  called on both with the number of a case; what it returns on the first counts
/// @return the lower quartile of each case; the same on all ranks
/// @par Collective
/// Yes; blocks.
std::vector<double> measure_by_two(MPI_Comm comm, rank_pair pair, std::size_t num_cases,
                                   double seconds,
                                   const std::function<double(std::size_t)>& measure);

/// @brief What one rank found in one round of one case, or all ranks did.
struct found_times {
    double seconds = 0;       ///< of the slowest rank
    double core_seconds = 0;  ///< that all ranks together had a core
    double part = 0;          ///< anything that is added over all ranks
};

/// @brief Rounds of all cases by all ranks, which meet before each.
/// @return by case, and by round in it; the same on all ranks
/// @par Collective
/// Yes; blocks.
std::vector<std::vector<found_times>> measure_by_all(
    MPI_Comm comm, std::size_t num_cases, double seconds,
    const std::function<found_times(std::size_t)>& measure);

}  // namespace crossdock
