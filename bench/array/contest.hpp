/// @file
/// @brief Distributed arrays checked, and then timed against each other.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/array/contender.hpp"
#include "bench/common/stopwatch.hpp"
#include "tools/inputs/array/counts.hpp"
#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

/// @brief How long a contest lasts; equal on all ranks.
struct contest_options {
    int warm_ups = 2;
    int iterations = 10;
    int setups = 5;  ///< of prepared reads
};

/// @brief The phases of `batch_seconds`, as an array.
inline constexpr std::array phase_names{"combine_locally", "combine_on_the_way", "write", "read",
                                        "split",           "communicate"};
using phase_medians = std::array<double, phase_names.size()>;

/// @brief What a contender's check found.
struct check_result {
    bool is_verified = false;
    std::optional<workload_counts> counts;  ///< unset where nobody counted
};

/// @brief How one contender did.
struct standing {
    entrant who;
    check_result found;
    timing seconds;                       ///< of all batches of the workload
    std::optional<phase_medians> phases;  ///< of the slowest rank in each; unset where not counted
};

/// @brief A batch, over all ranks.
struct batch_size {
    request_traits kind;
    count_t requests;
};

struct result {
    std::vector<batch_size> batches;  ///< of the workload
    std::vector<standing> standings;
};

/// @brief Checks every contender, then times them in turn as a `stopwatch` does.
///
/// A check runs the workload's program and compares its outcome with the serial one. What is timed are
/// the batches that the program asked for at the first contender, one after the other: without the
/// program's own work, which is the same for all.
/// @return on rank 0; the times mean nothing on others
/// @par Collective
/// Yes; blocks.
/// @throws as the contenders, on all ranks
result contest(const communicator& comm, const rank_work& work,
               const std::vector<entrant>& entrants, const contest_options& options);

}  // namespace crossdock::bench::array
