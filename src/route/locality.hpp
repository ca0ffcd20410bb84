/// @file
/// @brief The route `locality`.
#pragma once

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Over a grid of regions, one dimension per stage, then inside the destination region.
///
/// The grid is that of `grid`, with a region where that has a rank. A rank hands an item to the
/// member of the next region with its own local rank, modulo that region's size. Items for the own
/// region wait for the last stage.
///
///     "4x2", 0 to 7:   locality     0 -> 4 -> 6 -> 7       regions 0, 2, 3
///                      locality:1   0 -> 6 -> 7            regions 0, 3
///
/// At most (K1 - 1) + (K2 - 1) + … messages between regions per rank, and S - 1 inside, S the
/// largest region.
/// @par Source
/// \cite peters2024array (its shape of this name). Differs: regions of any number, size and order.
class locality_route final : public route {
  public:
    /// @param parameters  ":n" for n balanced dimensions of regions; none for ceil(log2 R)
    /// dimensions of 2
    static std::unique_ptr<route> make(std::string_view parameters, const topology& regions);

    /// @brief 2 and 3 dimensions, where there are regions enough for so many to differ from fewer.
    static std::vector<std::string> candidates(const topology& regions, bool shares_cores);

    int num_stages() const override { return num_dimensions() + 1; }
    rank_t next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override;

  private:
    locality_route(std::string name, const topology& regions, std::vector<region_t> shape)
        : route(std::move(name), regions), shape_(std::move(shape)) {}

    int num_dimensions() const { return static_cast<int>(shape_.size()); }

    std::vector<region_t> shape_;
};

}  // namespace crossdock
