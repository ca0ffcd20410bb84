/// @file
/// @brief Streams checked, and then timed against what a program would do by hand.
#pragma once

#include <optional>
#include <vector>

#include "bench/common/stopwatch.hpp"
#include "bench/stream/contender.hpp"

namespace crossdock::bench::streaming {

/// @brief How long a contest lasts; equal on all ranks.
struct contest_options {
    int warm_ups = 1;
    int iterations = 10;
    double rate = 0;          ///< share of the largest rate at which latency is measured; 0: not
    count_t num_items = 0;    ///< of all workers in a run
    count_t num_workers = 1;  ///< of all ranks
};

/// @brief How long items are on their way if fewer are sent than could be.
struct latency_result {
    double items_per_second = 0;  ///< of all workers
    bool is_verified = false;
    stream_statistics statistics;  ///< of that run, over all ranks
};

/// @brief How one contender did.
struct standing {
    /// What its check found.
    struct check_result {
        bool is_verified = false;
        std::optional<stream_scheme> scheme;
        std::optional<stream_statistics> statistics;  ///< of the checked run, over all ranks
    };

    entrant who;
    check_result found;
    timing seconds;
    work_counts counts;  ///< of an average timed run, over all ranks
    std::optional<latency_result> latency;
};

/// @brief Checks every contender in its first run, then times them in turn as a `stopwatch` does.
/// @return on rank 0; the times and counts mean nothing on others
/// @par Collective
/// Yes; blocks.
/// @throws as the contenders, on all ranks
std::vector<standing> contest(const communicator& comm, const std::vector<entrant>& entrants,
                              const contest_options& options);

}  // namespace crossdock::bench::streaming
