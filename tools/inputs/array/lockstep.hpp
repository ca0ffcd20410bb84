/// @file
/// @brief A workload run by all ranks in one process.
#pragma once

#include <vector>

#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

/// @brief The requests of all ranks in one batch.
struct lockstep_batch {
    request_traits kind = request_traits::read;
    std::vector<std::vector<count_t>> indices;  ///< entry p of rank p
};

/// @brief What the ranks asked for, one batch after the other.
struct lockstep_run {
    std::vector<lockstep_batch> batches;
    bool is_verified = false;  ///< every outcome is the one computed serially
};

/// @brief Runs the programs of all ranks, batch by batch, on one array.
/// @param work  as `make_work`
/// @par Collective
/// No; makes no MPI call.
lockstep_run run_in_lockstep(const std::vector<rank_work>& work);

}  // namespace crossdock::bench::array
