/// @file
/// @brief Routes by region, as the members of a region know them together.
#pragma once

#include "region_summary.hpp"
#include "stage_cost.hpp"

namespace crossdock {

/// @brief The summary of a rank's pattern, without stages and what others forward.
member_summary summarize_member(const estimate_frame& frame);

/// @brief What a rank gets from where, by the rank that it gets it through.
using receives_by_rank = std::map<rank_t, std::vector<counted_items>>;

/// @brief What the rank gets on a route by counterparts from where, by the member that forwards it; itself for
/// what comes directly.
receives_by_rank receives_by_counterpart(const estimate_frame& frame, const route& r);

/// @brief Adds to a route by counterparts, whose sends of the first stage are there, all else.
/// @param across  receives what the node gets in the first stage
void follow_counterparts(const estimate_frame& frame, const region_summary& region,
                         const receives_by_rank& by_counterpart, stage_cost& loads,
                         node_items& across);

/// @brief Adds the three stages of a route by leaders.
/// @param across  receives what the node sends and gets in the second stage
void follow_leaders(const estimate_frame& frame, const region_summary& region, stage_cost& loads,
                    node_items& across);

}  // namespace crossdock
