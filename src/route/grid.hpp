/// @file
/// @brief The routes over a grid of ranks: `grid`, `hypercube`, and the named grids.
#pragma once

#include "block_grid.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Store and forward over a virtual k-dimensional grid, one dimension per stage.
///
/// Ranks are cut into K1 blocks, each block into K2, and so on; where K1 K2 … = P this is
/// MPI_Cart's row-major order. Stage t takes an item from its block of level t to the rank of the
/// destination's block that has the same place in it (modulo that block's size). Blocks of one
/// level differ in size by at most 1, so every P up to K1 K2 … works, primes included.
///
///     grid:2x2, 4 ranks, 0 to 3:   0 -> 2 -> 3       blocks {0 1} {2 3}
///     grid:2x3, 5 ranks, 2 to 4:   2 -> 3 -> 4       blocks {0 1 2} {3 4}
///
/// At most (K1 - 1) + (K2 - 1) + … messages per rank.
/// @par Source
/// \cite selvitopi2019vpt (the dimensions of grid:n) and \cite peters2024array (also
/// the shapes with names). Differs: blocks of nearly equal size in place of a grid with missing
/// ranks.
class grid_route final : public route {
  public:
    grid_route(std::string name, const topology& regions, std::vector<rank_t> shape)
        : route(std::move(name), regions), shape_(std::move(shape)) {}

    int num_stages() const override { return static_cast<int>(shape_.size()); }
    rank_t next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override { return grid().max_destinations(); }

    /// @brief K1, K2, …
    const std::vector<rank_t>& shape() const noexcept { return shape_; }

  private:
    block_grid grid() const { return {regions().num_ranks(), shape_}; }

    std::vector<rank_t> shape_;
};

}  // namespace crossdock
