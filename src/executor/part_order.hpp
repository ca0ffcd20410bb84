/// @file
/// @brief The order in which a rank starts the parts that it sends and receives.
#pragma once

#include <vector>

#include "exchange_layout.hpp"

namespace crossdock {

/// @brief Puts parts into the order in which they match.
///
/// Parts in sections come before those in place. Parts between two ranks in one stage match in
/// order: that of the messages that they are of, which both ends know.
void order_receives(shared_memory_schedule& work, std::vector<message_part> receives);

/// @brief As above; notes which parts must not overtake the one before them.
/// @param own      of this rank's messages; those that others send are left out
/// @param foreign  stripes that this rank sends for others
/// @return where each part of this rank came; nothing for those that others send
index_vector<outgoing_part_number, send_number> order_sends(
    shared_memory_schedule& work, const index_vector<outgoing_part_number, outgoing_part>& own,
    const std::vector<message_part>& foreign);

}  // namespace crossdock
