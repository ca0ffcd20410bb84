/// @file
/// @brief What the batches of a workload cost, counted over ranks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "crossdock/detail/array/array_statistics.hpp"
#include "crossdock/plan.hpp"

namespace crossdock::bench::array {

/// @brief `request_stage` over all ranks, each rank's batches added up.
struct stage_counts {
    traffic_summary sent;
    summary empty_messages;
    summary received;
    summary combined;
};

/// @brief `array_statistics` over all ranks, each rank's batches added up.
struct workload_counts {
    summary requests;
    summary combined_locally;
    summary combined_on_the_way;
    summary received;  ///< on the way and at the owner, from other ranks
    summary arrived;   ///< at the owner in the last stage, from other ranks
    std::vector<stage_counts> stages;
};

/// @brief Adds a batch of a rank, seconds too. Batches on different routes may differ in stages.
void add(array_statistics& total, const array_statistics& batch);

/// @brief A number of a rank.
using count_of = std::function<count_t(const array_statistics&)>;

/// @brief Counts with the help of whoever knows all ranks.
/// @param over_ranks  brings a number's sum, maximum and mean over the ranks
workload_counts count_with(std::size_t num_stages,
                           const std::function<summary(const count_of&)>& over_ranks);

/// @brief Counts what is at hand of all ranks.
workload_counts count(std::span<const array_statistics> of_ranks);

}  // namespace crossdock::bench::array
