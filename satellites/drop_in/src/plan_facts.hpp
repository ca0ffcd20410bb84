/// @file
/// @brief What was found out about a plan: by its trial, and for CROSSDOCK_REPORT.
#pragma once

#include <string>

#include "crossdock/types.hpp"

namespace crossdock::drop_in {

/// @brief What a plan and MPI took for one exchange, in seconds on the slowest rank; the median of a few rounds.
struct trial_seconds {
    double by_plan = 0;
    double by_mpi = 0;
};

/// @brief A plan that was compiled for a call. Sums are over all ranks.
struct plan_facts {
    std::string route;
    trial_seconds trial;
    count_t bytes = 0;            ///< that all ranks send
    count_t most_neighbors = 0;   ///< that a rank sends to
    count_t messages_before = 0;  ///< between regions
    count_t messages_after = 0;
    bool is_used = false;  ///< calls go along it; otherwise MPI does them
    const char* why = "";  ///< it is used, or is not
};

}  // namespace crossdock::drop_in
