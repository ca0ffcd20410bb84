/// @file
/// @brief Which route a distributed array takes if it is not told.
#pragma once

#include <string>

#include "crossdock/topology/topology.hpp"

namespace crossdock {

/// @brief About how many requests a rank makes in a batch, if nothing else is said.
inline constexpr count_t default_expected_requests = count_t{1} << 15;

/// @brief With fewer requests of a rank for every other, messages are what counts.
inline constexpr count_t few_requests_per_message = 256;

/// @brief The route for batches of a size, by a rule as there is no model yet.
///
/// Where a rank has `few_requests_per_message` or more for every other, messages are long whatever the
/// route, and `direct` moves each request once. Else few messages count, and the route is the one by
/// which the sparse exchange chooses to deliver messages.
/// @param num_requests  of a rank in a batch, when its own are combined
std::string choose_array_route(const topology& regions, count_t num_requests);

/// @brief The route "auto": for every batch the one that suits the last batch.
///
/// The first batch is taken to be as large as expected. Ranks choose alike as they learn alike. What
/// kind of batch is next plays no part: ranks that do not agree on it have to meet, to say so.
class array_route_rule {
  public:
    array_route_rule(const topology& regions, count_t expected_requests);

    /// @brief The route of the next batch.
    const std::string& route_for_next() const noexcept {
        return most_requests_ >= least_of_many_ ? for_many_ : for_few_;
    }

    /// @brief Learns how many requests that rank had which had most.
    void learn(count_t most_requests) noexcept { most_requests_ = most_requests; }

    const std::string& route_for_few() const noexcept { return for_few_; }
    const std::string& route_for_many() const noexcept { return for_many_; }

  private:
    count_t least_of_many_;
    count_t most_requests_;  // in the last batch
    std::string for_few_;
    std::string for_many_;
};

}  // namespace crossdock
