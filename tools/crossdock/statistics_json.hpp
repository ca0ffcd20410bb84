/// @file
/// @brief Statistics of plans as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "crossdock/plan/statistics.hpp"

namespace crossdock::tool {

/// @brief JSON that keeps its fields in the order they were written.
using json = nlohmann::ordered_json;

/// @brief {"max", "mean"}, over ranks.
json spread_json(const summary& numbers);

/// @brief {"messages", "items", "inter_region": {"messages", "items"}}, each {"total", "max",
/// "mean"}.
json traffic_json(const traffic_summary& counted);

}  // namespace crossdock::tool
