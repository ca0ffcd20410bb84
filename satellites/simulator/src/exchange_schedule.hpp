// Schedules of sparse exchanges that the library does not run as they are.
#pragma once

#include <span>
#include <vector>

#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief What an exchange does otherwise than `schedule_of_exchange` says.
struct exchange_variant {
    /// All know how many messages come to them: `personalized` and `reduce_scatter` reduce 6 words.
    bool knows_num_sources = false;
    /// The locality versions go on inside a region by a personalized exchange, as in their study: an
    /// allreduce of a count for every member, and messages to those alone for whom there is something.
    bool is_personalized_inside = false;
};

/// @brief As `schedule_of_exchange`.
schedule schedule_of_variant(const topology& regions,
                             std::span<const std::vector<sized_message>> messages,
                             const exchange_algorithm& algorithm, const exchange_variant& variant,
                             count_t max_forwarded_bytes, const machine& m);

}  // namespace crossdock
