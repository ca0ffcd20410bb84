/// @file
/// @brief The route `direct`.
#pragma once

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief One hop: every rank sends to each of its destinations itself.
///
/// At most P - 1 messages per rank.
class direct_route final : public route {
  public:
    static std::unique_ptr<route> make(std::string_view parameters, const topology& regions);

    int num_stages() const override { return 1; }
    rank_t next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override;

  private:
    using route::route;
};

/// @brief Throws unless `parameters` is empty, for routes that take none.
/// @throws error(errc::invalid_route)  otherwise
void reject_parameters(std::string_view name, std::string_view parameters);

}  // namespace crossdock
