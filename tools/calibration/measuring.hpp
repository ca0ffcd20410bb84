/// @file
/// @brief Rounds of measurements, by two ranks or by all.
#pragma once

#include <functional>
#include <vector>

#include "crossdock/communicator.hpp"
#include "fit.hpp"
#include "peers.hpp"

namespace crossdock {

constexpr int data_tag = 1;              ///< of messages that are measured
constexpr double least_seconds = 1e-10;  ///< a time is never 0

/// @brief From a time of MPI_Wtime to now.
double elapsed_since(double start_seconds);

/// @brief `first`, `first * factor`, ... up to `last`.
std::vector<double> powers_up_to(double first, double last, double factor = 2);

/// @brief Entry k is amount k with its time.
std::vector<timed_amount> pair_up(const std::vector<double>& amounts,
                                  const std::vector<double>& seconds);

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
