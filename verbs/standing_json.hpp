/// @file
/// @brief What was measured of contenders, as JSON.
#pragma once

#include <vector>

#include "bench/neighbor/contest.hpp"
#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief {"min", "lower_quartile", "median", "upper_quartile", "max"}
json timing_json(const bench::timing& seconds);

/// @brief An array of all that is known of each contender, with the ratio of its times to those of the fastest that
/// uses MPI alone.
json contenders_json(const std::vector<bench::standing>& standings);

}  // namespace crossdock::tool
