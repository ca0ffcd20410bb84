/// @file
/// @brief What a pattern would gain on a cluster, for those who measure on one machine.
#pragma once

#include <string>

#include "crossdock/types.hpp"

namespace crossdock::tool {

/// @brief A sentence that begins with "estimated on 4 nodes of 16": the route that `explain` takes
/// on 64 ranks, and the gain over direct. Empty for what cannot be divided into blocks for them.
/// @throws as `load_workload`
std::string cluster_estimate(const std::string& file, const std::string& partition,
                             count_t item_bytes);

}  // namespace crossdock::tool
