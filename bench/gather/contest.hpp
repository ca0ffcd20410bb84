/// @file
/// @brief Gather-scatters checked, and then timed against each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/common/stopwatch.hpp"
#include "bench/gather/contender.hpp"

namespace crossdock::bench::gather {

/// @brief How long a contest lasts; equal on all ranks.
struct contest_options {
    int warm_ups = 10;
    int iterations = 100;
    int in_a_row = 1;  ///< operations of an iteration, which is their mean
    int setups = 3;
};

/// @brief Whether a contender is right, and what it sends.
struct check_result {
    bool is_verified = false;
    traffic sent;  ///< by all ranks together, when it was timed; 0 where MPI does not say
};

/// @brief How one contender did.
struct standing {
    std::string name;
    bool is_baseline;
    std::string choice;
    check_result found;
    timing setup_seconds;
    timing combine_seconds;
};

/// @brief Checks every contender, then times them in turn as a `stopwatch` does.
///
/// Values are integers, so that sums do not depend on their order, and those of all copies are
/// compared exactly with a serial sum. What a contender does before it has settled is not timed.
/// @return on rank 0; the times mean nothing on others
/// @par Collective
/// Yes; blocks. Every rank holds all ids while it checks.
std::vector<standing> contest(const context& where, std::span<const count_t> ids,
                              const std::vector<entrant>& entrants, const contest_options& options);

}  // namespace crossdock::bench::gather
