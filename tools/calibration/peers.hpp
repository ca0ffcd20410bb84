/// @file
/// @brief Who measures with whom.
#pragma once

#include <optional>
#include <vector>

#include "crossdock/machine.hpp"
#include "crossdock/price.hpp"

namespace crossdock {

/// @brief Two ranks that measure together, or one that does so alone.
struct rank_pair {
    rank_t first = 0;
    rank_t second = 0;

    bool is_alone() const noexcept { return first == second; }
};

/// @brief The next ranks at a level, at most so many, from a rank on and around.
std::vector<rank_t> peers_of(const rank_layout& layout, rank_t rank, locality_level level,
                             int max_peers);

/// @brief The first two ranks at a level.
std::optional<rank_pair> find_pair(const rank_layout& layout, locality_level level);

/// @brief The levels at which there are two ranks, from the nearest on.
std::vector<locality_level> levels_with_peers(const rank_layout& layout);

/// @brief How many ranks have others at a level.
int count_ranks_with_peers(const rank_layout& layout, locality_level level);

/// @brief To whom a rank sends in a burst: its peers in turn.
/// @return empty if it has none
std::vector<rank_t> burst_of(const rank_layout& layout, rank_t rank, locality_level level,
                             int num_messages);

/// @brief The lengths of the bursts that are measured at a level, ascending.
///
/// The longest has a message for each of the first rank's others there, at most 16; or 16 if these are
/// fewer than four, since messages to one rank are cheaper.
/// @param level  at which there are two ranks
std::vector<double> burst_counts(const rank_layout& layout, locality_level level);

}  // namespace crossdock
