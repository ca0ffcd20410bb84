/// @file
/// @brief The route `three_step`.
#pragma once

#include <algorithm>

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Inside the source region to the member that speaks with the destination region; across;
/// inside the destination region.
///
/// Between two regions goes at most one message. Which members speak is agreed inside the regions
/// when a plan is compiled, so that the items each member sends and receives across are balanced
/// (`balance`). Items for the own region go straight to their destination in the first stage.
///
///     "2x2", ranks 0 and 1 to ranks 2 and 3, 1 sends and 2 receives across:
///         0 -> 1      1 -> 2      2 -> 3
///         stage 0     stage 1     stage 2
///
/// Regions that agreed on nothing speak by number: in region A, member B mod |A| sends to region B
/// and receives from it. Of `three_step:K` at most K members of a region speak, by number the first
/// K: fewer wait for messages from other nodes, and each carries more.
///
/// @par Source
/// \cite bienz2019node and \cite collom2023neighbor, which shares a region's messages out over its
/// members such that each has few of them if they are short, and equally many bytes if they are
/// long. Differs: both are one measure (`balance_messages`); sender and receiver are chosen apart.
class three_step_route final : public route {
  public:
    static std::unique_ptr<route> make(std::string_view parameters, const topology& regions);

    /// @param shares_cores  one leader for all is a candidate, too: a rank that waits for messages
    /// takes time from others
    static std::vector<std::string> candidates(const topology& regions, bool shares_cores);

    int num_stages() const override { return 3; }
    cost_trace trace() const override { return cost_trace::leaders; }
    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table& leaders) const override;
    rank_t max_leaders() const override { return max_leaders_; }
    stage_partners partners(rank_t here, int stage) const override;
    std::optional<stage_partners> certain_partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override;

  private:
    three_step_route(const std::string& name, const topology& regions, rank_t max_leaders)
        : route(name, regions), max_leaders_(max_leaders) {}

    // Those of a region that may speak by number.
    rank_t num_leaders(region_t region) const {
        return std::min(max_leaders_, regions().region_size(region));
    }
    rank_t leader_by_number(region_t region, region_t other) const {
        return regions().rank_at(region, other % num_leaders(region));
    }
    bool speaks_by_number(region_t region, rank_t local) const;
    std::vector<rank_t> spoken_with_by_number(rank_t here) const;

    rank_t max_leaders_;
};

}  // namespace crossdock
