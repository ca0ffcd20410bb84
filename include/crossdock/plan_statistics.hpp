/// @file
/// @brief What plans cost: messages and items, per stage and level.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What one rank sends: all of it, and the part that leaves its region.
struct traffic {
    count_t messages = 0;
    count_t items = 0;
    count_t inter_region_messages = 0;
    count_t inter_region_items = 0;

    traffic& operator+=(const traffic& other);
    friend bool operator==(const traffic&, const traffic&) = default;
};

/// @brief What `sender` sends in one stage.
/// @pre `stage` < `sender.stages().size()`
traffic stage_traffic(const topology& regions, const plan& sender, std::size_t stage);

/// @brief What `sender` sends in all stages.
traffic total_traffic(const topology& regions, const plan& sender);

/// @brief The items a rank needs buffers for: what it sends and what it receives, over all stages.
///
/// An item that is stored and forwarded is counted in both, as it has a place in a message that
/// arrives and in one that leaves.
/// @par Source
/// \cite selvitopi2019vpt counts the buffers for sending, receiving, and storing and forwarding.
count_t buffer_items(const plan& p);

/// @brief Sum, maximum and mean over ranks.
struct summary {
    count_t total = 0;
    count_t max = 0;
    double mean = 0;

    friend bool operator==(const summary&, const summary&) = default;
};

/// @brief `traffic`, field by field over all ranks.
struct traffic_summary {
    summary messages;
    summary items;
    summary inter_region_messages;
    summary inter_region_items;
};

/// @brief All ranks' plans of one route, counted.
struct plan_statistics {
    std::vector<traffic_summary> stages;
    traffic_summary total;
    summary buffer_items;
};

/// @brief Counts the plans of all ranks.
/// @pre the plans are of one route, entry p for rank p
/// @par Complexity
/// Linear in the messages of all plans.
plan_statistics analyze(const topology& regions, std::span<const plan> plans);

/// @brief Sum, maximum and mean of one number per rank.
summary summarize(std::span<const count_t> per_rank);

}  // namespace crossdock
