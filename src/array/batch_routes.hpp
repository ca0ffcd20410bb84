// The route that each batch of an array takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "batch_route.hpp"
#include "route_rule.hpp"

namespace crossdock {

/// @brief One routing for all batches; with the route "auto" one for few requests and one for many.
class batch_routes {
  public:
    /// @param route  "auto", or a name that `make_route` takes
    /// @param m      borrowed; only "auto" reads it, as well as `expected_requests` and `size`
    /// @throws as `make_route`
    batch_routes(const topology& regions, const block_partition& owners, rank_t here,
                 const std::string& route, count_t expected_requests, const request_size& size,
                 const machine& m);

    /// @brief Chooses the routing of the next batch.
    const batch_route& choose_next();

    /// @brief The routing that was chosen last.
    const batch_route& latest() const { return routings_[latest_]; }

    /// @brief Learns how many requests the rank with the most requests had in the last batch.
    void learn(count_t most_requests);

    /// @brief The number of stages of the routing that has most.
    std::size_t max_stages() const;

  private:
    std::optional<array_route_rule> rule_;  // of "auto"
    std::vector<batch_route> routings_;
    std::size_t latest_ = 0;
};

}  // namespace crossdock
