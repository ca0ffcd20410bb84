/// @file
/// @brief What is drawn of plans, as data.
#pragma once

#include <span>

#include "crossdock/plan.hpp"
#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief The plans of all ranks as `tools/plots/draw_plan.py` reads them.
///
/// Ranks stand in the order of their regions; a *place* is where a rank stands. Up to 32 ranks every
/// message is listed, beyond that messages are summed in the cells of a matrix of at most 128 x 128,
/// source by destination, of which a row stands for `ranks_per_cell` places.
///
///     "places": [{"rank", "region"}, …]
///     "ranks_per_cell"                   0 where messages are listed
///     "sent": {"messages", "items", "inter_region_messages", "inter_region_items"}
///                                        each an array, by place
///     "stages": [{"messages", "items"    in all
///                 "sends": [[source place, destination place, items], …]
///                 "cells": [[source row, destination row, items, items between regions], …]}, …]
///
/// @pre the plans are of one route, entry p for rank p of `regions`
/// @par Complexity
/// Linear in the messages of all plans.
json plan_picture(const topology& regions, std::span<const plan> plans);

}  // namespace crossdock::tool
