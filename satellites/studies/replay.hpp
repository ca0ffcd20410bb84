/// @file
/// @brief What the studies ask of a route: its messages, counted, and its time, simulated.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"

namespace crossdock::bench {

/// @brief Messages and items that the ranks send in all stages.
struct route_traffic {
    traffic_summary sent;
    summary intra_region_messages;
    summary buffer_items;  ///< as `buffer_items(plan)`
};

/// @brief The most items in buffers at one time, if a rank ran the plan stage by stage and used the
/// places of items again that it has sent or delivered.
///
///     hypercube, 4 ranks, 0 to 3:   2 receives a in stage 0 and sends it in stage 1: 2 items in stage 1
count_t items_at_once(const plan& p);

route_traffic count(const topology& regions, std::span<const plan> plans);

nlohmann::json to_json(const summary& s);

/// @brief Totals, maxima and means, by name.
nlohmann::json to_json(const route_traffic& traffic);

/// @brief The plans as those run them who wait for all messages of a stage before they send the next
/// one's; `schedule_of` waits for what a message forwards only.
schedule stage_by_stage(std::span<const plan> plans, count_t item_bytes);

/// @brief The messages that compiling takes, round by round.
///
/// Each round is a sparse exchange by the method `nonblocking`: messages to who does not expect them, then
/// a reduction of 6 words over all ranks, in ceil(lg P) steps of a dissemination. What ranks compute meanwhile
/// is left out.
schedule planning(const topology& regions, std::span<const pattern> patterns, const route& way,
                  bool deduplicate);

/// @brief When each rank has done its last operation.
std::vector<double> finish_seconds(const rank_layout& layout, const schedule& work,
                                   const machine& m);

/// @brief When the slowest rank has.
double simulated_seconds(const rank_layout& layout, const schedule& work, const machine& m);

/// @brief Simulated and priced seconds, where the time of all ranks goes, and the term that most of the
/// price's longest stage goes to.
nlohmann::json times(const rank_layout& layout, std::span<const plan> plans, const machine& m,
                     const travel_options& travel);

}  // namespace crossdock::bench
