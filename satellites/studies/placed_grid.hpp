/// @file
/// @brief Ranks at places of a grid that suit the pattern.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "place_search.hpp"
#include "src/route/grid.hpp"

namespace crossdock {

/// @brief A grid whose ranks are at other places than those of their numbers.
/// @par Source
/// What \cite selvitopi2019vpt leaves to future work.
class placed_grid final : public route {
  public:
    /// @param place_of_rank  a permutation of 0 … P-1
    placed_grid(const topology& regions, const grid_route& grid, std::vector<rank_t> place_of_rank);

    int num_stages() const override { return grid_.num_stages(); }
    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table& leaders) const override;
    stage_partners partners(rank_t here, int stage) const override;
    count_t max_messages_per_rank() const override { return grid_.max_messages_per_rank(); }

  private:
    grid_route grid_;
    // The one is the inverse of the other.
    std::vector<rank_t> place_of_rank_;
    std::vector<rank_t> rank_at_place_;
};

/// @brief By how many ranks an item is sent on its way, its source included.
/// @pre the route is not balanced
count_t count_hops(const route& r, rank_t source, rank_t destination);

/// @brief What a rank has for others, in the order of its pattern.
std::vector<rank_traffic> traffic_of(const pattern& p);

/// @brief How many items are sent to bring those of one rank to their destinations, by all ranks
/// together.
///
/// Summed over the ranks, that is what the plans of all send.
///
///     an item of 0 for 2 and 3, two_step on "2x2":   0 -> 2 -> 3     2, or 3 if it is sent for each
/// @pre the route is not balanced
/// @par Complexity
/// For n pairs of an item and a destination, O(n log n) and a hop for each stage and pair; items
/// with the same destinations are followed once.
count_t count_sent(const pattern& p, const route& r, const compile_options& options);

/// @brief The route that ranks take for these patterns, if other places than their own save items.
/// @param patterns  of all ranks
/// @return null if all stay at the places of `r`
std::unique_ptr<route> place_ranks(const topology& regions, std::span<const pattern> patterns,
                                   const grid_route& r, const compile_options& options);

}  // namespace crossdock
