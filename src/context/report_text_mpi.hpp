/// @file
/// @brief The report of objects, as a table and as lines of JSON.
#pragma once

#include <span>
#include <string>

#include "crossdock/context.hpp"

namespace crossdock {

/// @brief What the objects of one name have done on all ranks.
struct reported_object {
    rank_t num_ranks = 1;
    object_report sum;  ///< numbers of messages and bytes, and seconds, are sums over the ranks
    object_report max;  ///< seconds of the slowest rank; and who was waited for longest on any
};

/// @brief A line of the schema `crossdock.report/1`, with its end.
std::string to_json(const reported_object& one);

/// @brief A row for each name. Seconds are microseconds of one exchange, the mean over the ranks.
std::string to_table(std::span<const reported_object> all);

}  // namespace crossdock
