/// @file
/// @brief Patterns that are drawn such that `direct` sends as many messages and items as a study tells.
#pragma once

#include <string>
#include <vector>

#include "crossdock/pattern.hpp"

namespace crossdock::bench {

/// @brief What is known of the exchanges of matrices that are not at hand.
struct drawn_counts {
    count_t most_messages = 1;  ///< of the rank that sends most
    double mean_messages = 1;
    double mean_items = 1;  ///< that a rank sends
};

/// @brief Reads "drawn:MOST:MEAN:ITEMS".
/// @throws error(errc::invalid_argument)  it is another text, or one of the numbers is impossible
drawn_counts parse_drawn_counts(const std::string& text);

/// @brief Draws the exchange of a matrix with symmetric structure: who sends to a rank receives from it.
///
/// Ranks p and q are as many levels apart as p xor q has bits, as if they had been numbered by recursive
/// bisection; who is a level further away is more rarely a partner, and gets less. The numbers of
/// partners follow a power of a rank's place in a random order, from 1 to `most_messages`. A message
/// is the shorter the more partners its ends have, so that ranks send nearly as many items; it has
/// at least one. The same arguments give the same patterns.
/// @param num_ranks  a power of two, more than `most_messages`
/// @throws error(errc::invalid_argument)  it is another number
std::vector<pattern> draw_patterns(rank_t num_ranks, const drawn_counts& counts);

}  // namespace crossdock::bench
