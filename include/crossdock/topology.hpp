/// @file
/// @brief Topologies: the region that each rank belongs to, usually its node.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A run-length code for consecutive ranks, whose regions are numbered in cyclic order.
///
/// Rank `first_rank + i` belongs to region `first_region + (i / run_length) % num_regions`, for every i in [0,
/// num_ranks).
///
///     "2x4"        {0, 8, 0, 2, 4}:  0 0 0 0 1 1 1 1
///     "cyclic:2x4" {0, 8, 0, 2, 1}:  0 1 0 1 0 1 0 1
struct placement {
    rank_t first_rank;
    rank_t num_ranks;
    region_t first_region;
    region_t num_regions;
    rank_t run_length;

    friend bool operator==(const placement&, const placement&) = default;
};

/// @brief The regions of P ranks; a region is the unit of locality, usually a node.
///
/// Regions may differ in size and need not be contiguous. Ordinary placements (blocks, round-robin, or a few of both)
/// take a few words for any number of ranks. Only an irregular placement needs a table of length P.
///
///     ranks   0 1 2 3 4          "2,3"
///     region  0 0 1 1 1
///     local   0 1 0 1 2
class topology {
  public:
    /// @brief A topology with all ranks in one region.
    /// @throws error(errc::invalid_topology)  `num_ranks` < 1
    [[nodiscard]] static topology one_region(rank_t num_ranks);

    /// @brief Reads a topology from text: plain decimal digits, no white space.
    ///
    /// | text | meaning |
    /// |---|---|
    /// | `4x16` | 4 regions of 16 consecutive ranks |
    /// | `16,16,8` | consecutive regions of these sizes; `2x16,8` is the same |
    /// | `cyclic:4x16` | 4 regions of 16, ranks dealt round-robin |
    /// | `list:0,1,0,1` | the region of every rank; regions are renumbered 0, 1, … by number |
    /// @param num_ranks  the number of ranks that the text must describe
    /// @throws error(errc::invalid_topology)  the text is malformed or describes another number of ranks
    [[nodiscard]] static topology from_string(std::string_view text, rank_t num_ranks);

    /// @brief Reads a topology from text, with as many ranks as the text describes.
    [[nodiscard]] static topology from_string(std::string_view text);

    /// @brief Makes a topology from the region of every rank. Regions are renumbered 0, 1, … in increasing order.
    /// @throws error(errc::invalid_topology)  there are no ranks, or a region is negative
    /// @par Complexity
    /// Time O(P log P).
    [[nodiscard]] static topology from_regions(std::span<const region_t> region_of_rank);

    /// @brief Makes a topology from consecutive placements, as `placements()` returns them. The argument need not be
    /// the shortest code; `placements()` of the result is the shortest.
    /// @throws error(errc::invalid_topology)  a field is out of range, the placements do not cover 0 … P-1, or a region
    /// has no rank
    /// @par Complexity
    /// Time linear in the number of runs, which are consecutive ranks of one region; also in `from_string`.
    [[nodiscard]] static topology from_placements(std::span<const placement> placements);

    rank_t num_ranks() const noexcept { return num_ranks_; }
    region_t num_regions() const noexcept { return num_regions_; }

    /// @brief The region of a rank.
    /// @par Complexity
    /// Linear in the number of placements, which is at most 16, as for all queries here.
    /// @throws error(errc::rank_out_of_range)  `rank` is outside [0, P)
    region_t region_of(rank_t rank) const;

    /// @brief The number of a rank among the ranks of its region, in rank order, from 0.
    /// @throws error(errc::rank_out_of_range)  `rank` is outside [0, P)
    rank_t local_rank(rank_t rank) const;

    /// @brief The number of ranks of a region, at least 1.
    /// @throws error(errc::invalid_argument)  there is no such region
    rank_t region_size(region_t region) const;

    /// @brief The rank of a region with a given local rank; the inverse of `local_rank`.
    /// @throws error(errc::invalid_argument)   there is no such region
    /// @throws error(errc::rank_out_of_range)  the region has no such local rank
    rank_t rank_at(region_t region, rank_t local_rank) const;

    /// @brief The run-length code; equal topologies have equal codes. Each placement takes as many whole runs, which
    /// are consecutive ranks of one region, as follow its rule. Only its last run may be shorter than `run_length`.
    ///
    ///     "2x16,8,3x4"  {0, 40, 0, 3, 16} {40, 12, 3, 3, 4}
    std::vector<placement> placements() const { return placements_; }

    /// @brief The shortest text that `from_string` reads back as an equal topology.
    std::string to_string() const;

    friend bool operator==(const topology& a, const topology& b) {
        return a.placements_ == b.placements_;
    }

  private:
    struct CROSSDOCK_HIDDEN table;  // an irregular placement, rank by rank

    explicit topology(std::vector<placement> canonical);

    const placement& placement_of(rank_t rank) const;

    rank_t num_ranks_ = 0;
    region_t num_regions_ = 0;
    std::vector<placement> placements_;
    std::shared_ptr<const table> table_;  // null for an ordinary placement; shared by copies
};

}  // namespace crossdock
