/// @file
/// @brief JSON for standard output, and statistics of plans in it.
#pragma once

#include <nlohmann/json.hpp>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"

namespace crossdock::tool {

/// @brief JSON that keeps its fields in the order they were written.
using json = nlohmann::ordered_json;

/// @brief Writes a document to standard output; bytes that are no UTF-8 (in file names) are
/// replaced.
void print(const json& document);

/// @brief {"total", "max", "mean"}, over ranks.
json summary_json(const summary& numbers);

/// @brief {"max", "mean"}, over ranks.
json spread_json(const summary& numbers);

/// @brief {"messages", "items", "inter_region": {"messages", "items"}}, each a `summary_json`.
json traffic_json(const traffic_summary& counted);

/// @brief {"route", "candidates": [{"route", "seconds", "mostly"}, …]}, the cheapest first.
json choice_json(const route_choice& choice);

}  // namespace crossdock::tool
