/// @file
/// @brief The exchanges of a hierarchy of hypre's, level by level: hypre's own against others.
#pragma once

#include <string>
#include <vector>

#include "bench/common/stopwatch.hpp"
#include "bench/neighbor/contender.hpp"
#include "crossdock/context.hpp"

namespace crossdock::bench {

/// @brief How long a contest of levels lasts; equal on all ranks.
struct level_contest_options {
    int runs = 9;
    int iterations = 100;  ///< exchanges of a run, which is their mean
    int setups = 3;
};

/// @brief What is sent in one exchange, between regions and inside them.
struct sent_counts {
    count_t messages_between = 0;
    count_t values_between = 0;
    count_t messages_inside = 0;
    count_t values_inside = 0;
};

/// @brief How one contender did on one level.
struct level_standing {
    std::string name;
    bool is_verified = false;  ///< its bits are those of hypre's exchange
    std::string route;         ///< that it took, if it is the library
    sent_counts most;          ///< by any rank, each number by itself
    sent_counts all;           ///< by all ranks together
    timing setup_seconds;      ///< with the first exchange
    timing exchange_seconds;   ///< of the runs' means
};

/// @brief One level of the hierarchy.
struct level_standings {
    count_t num_rows = 0;
    count_t num_entries = 0;
    std::vector<level_standing> standings;  ///< hypre's first, then in the order of the entrants
};

/// @brief Sets up BoomerAMG, checks each contender on each level, and times them in turn: every
/// round is one run of each on each level, in an order drawn anew.
/// @param problem  as `boomer_amg` takes it
/// @param others   who competes with hypre, forward, with items of 8 bytes; none has an obstacle
/// @return finest first; means something on rank 0
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::invalid_argument)  this build has no hypre; on all ranks
/// @throws error  as `boomer_amg` and as the contenders' set-up, on all ranks
std::vector<level_standings> contest_levels(const context& where, const std::string& problem,
                                            const std::vector<entrant>& others,
                                            const level_contest_options& options);

}  // namespace crossdock::bench
