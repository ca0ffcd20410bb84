/// @file
/// @brief Statistics of plans: messages and items, by stage and by rank.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The messages and items that one rank sends: all of them, and those that leave its region.
struct traffic {
    count_t messages = 0;
    count_t items = 0;
    count_t inter_region_messages = 0;
    count_t inter_region_items = 0;

    traffic& operator+=(const traffic& other);
    friend bool operator==(const traffic&, const traffic&) = default;
};

/// @brief The messages and items that `sender` sends in one stage.
/// @pre `stage` < `sender.stages().size()`
traffic stage_traffic(const topology& regions, const plan& sender, std::size_t stage);

/// @brief The messages and items that `sender` sends in all stages.
traffic total_traffic(const topology& regions, const plan& sender);

/// @brief The number of items that a rank needs buffers for: those that it sends and receives in
/// all stages.
///
/// An item that the rank forwards counts twice, as it takes space in the message that arrives and
/// in the one that leaves.
/// @par Source
/// \cite selvitopi2019vpt counts the buffers for sending, receiving, and storing and forwarding.
count_t buffer_items(const plan& p);

/// @brief Sum, maximum and mean of a number over all ranks.
struct summary {
    count_t total = 0;
    count_t max = 0;
    double mean = 0;

    friend bool operator==(const summary&, const summary&) = default;
};

/// @brief The fields of `traffic`, each summarized over all ranks.
struct traffic_summary {
    summary messages;
    summary items;
    summary inter_region_messages;
    summary inter_region_items;
};

/// @brief The messages and items of all ranks on one route.
struct plan_statistics {
    std::vector<traffic_summary> stages;
    traffic_summary total;
    summary buffer_items;
};

/// @brief Counts the messages and items of all ranks' plans.
/// @pre the plans are of one route, entry p for rank p
/// @par Complexity
/// Linear in the messages of all plans.
plan_statistics analyze(const topology& regions, std::span<const plan> plans);

/// @brief Sum, maximum and mean of a number that each rank has.
summary summarize(std::span<const count_t> per_rank);

}  // namespace crossdock
