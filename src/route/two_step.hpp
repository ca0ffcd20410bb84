/// @file
/// @brief The route `two_step`.
#pragma once

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Across to the counterpart in the destination region, then inside that region.
///
/// The counterpart of a rank is the member with the same local rank modulo the region's size, so
/// that what arrives is spread over the region. Items for the own region go straight to their
/// destination in the first stage.
///
///     "2x2", rank 0 to ranks 1, 2 and 3:   0 -> 1      0 -> 2     2 -> 3
///                                          stage 0     stage 0    stage 1
///
/// At most R - 1 messages between regions per rank, and 2 (S - 1) inside, S the largest region.
/// @par Source
/// The way of messages in the locality-aware exchanges of \cite geyko2024sdde (its algorithms 4 and
/// 5). Differs: the counterpart is taken modulo the size, so that regions may differ in size; equal
/// items travel once; and the way is compiled for a pattern that is known.
class two_step_route final : public route {
  public:
    static std::unique_ptr<route> make(std::string_view parameters, const topology& regions);

    static std::vector<std::string> candidates(const topology& regions, bool shares_cores);

    int num_stages() const override { return 2; }
    cost_trace trace() const override { return cost_trace::counterparts; }
    rank_t next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override;

  private:
    using route::route;
};

}  // namespace crossdock
