/// @file
/// @brief Sharing volumes out evenly over the members of a region.
#pragma once

#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Assigns each volume to one of `num_bins` bins so that the fullest bin is nearly least
/// full.
///
/// Largest first into the emptiest bin, then moves and swaps between the fullest bin and the others
/// while they lower the fullest. If that leaves it above 1.25 times the mean, a search that gives
/// up after 2000 steps looks for an assignment within this limit; it finds what there is for a
/// dozen volumes. Equal arguments give equal results.
/// @param volumes   items, >= 0
/// @param num_bins  at least 1
/// @return the bin of each volume
/// @par Complexity
/// O(n log n + n b) for n volumes and b bins, mostly O(n) for each improving move, at most n of
/// them, and at most 2000 steps of O(b log b).
/// @par Source
/// Longest processing time first (Graham 1969), with exchange improvement.
std::vector<int> balance(std::span<const count_t> volumes, int num_bins);

/// @brief What a message costs besides its items, in items: as many of 8 bytes as a network of
/// 10 GB/s moves in the microsecond that a message keeps a core busy.
inline constexpr count_t items_per_message = 1024;

/// @brief Assigns each message to one of `num_members` ranks by `balance`: where messages are short
/// each rank gets nearly as many of them, where they are long nearly as many items.
/// @param num_items  of each message, >= 0
/// @return the rank of each message, in [0, num_members)
std::vector<int> balance_messages(std::vector<count_t> num_items, int num_members);

}  // namespace crossdock
