/// @file
/// @brief Where ranks live: which region each rank belongs to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/base/types.hpp"

namespace crossdock {

/// @brief A run-length code for a stretch of ranks: region numbers that count up and start over.
///
/// Rank `first_rank + i` belongs to region `first_region + (i / run_length) % num_regions`, for
/// every i in [0, num_ranks).
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
/// Regions may differ in size and need not be contiguous. Ordinary placements (blocks, round-robin,
/// a few of either) take a few words however many ranks there are; only an irregular placement
/// falls back to a table of length P.
///
///     ranks   0 1 2 3 4          "2,3"
///     region  0 0 1 1 1
///     local   0 1 0 1 2
class topology {
  public:
    /// @brief All ranks in one region.
    /// @throws error(errc::invalid_topology)  `num_ranks` < 1
    static topology one_region(rank_t num_ranks);

    /// @brief Reads a topology from text.
    ///
    /// | text | meaning |
    /// |---|---|
    /// | `4x16` | 4 regions of 16 consecutive ranks |
    /// | `16,16,8` | consecutive regions of these sizes; `2x16,8` is the same |
    /// | `cyclic:4x16` | 4 regions of 16, ranks dealt round-robin |
    /// | `list:0,1,0,1` | the region of every rank; regions are renumbered 0, 1, … by number |
    ///
    /// @param text       as above
    /// @param num_ranks  what the text must describe
    /// @throws error(errc::invalid_topology)  malformed, or describes another number of ranks
    static topology from_string(std::string_view text, rank_t num_ranks);

    /// @brief As above, with as many ranks as the text describes.
    static topology from_string(std::string_view text);

    /// @brief From the region of every rank; regions are renumbered 0, 1, … in increasing order.
    /// @throws error(errc::invalid_topology)  empty, or a negative region
    static topology from_regions(std::span<const region_t> region_of_rank);

    /// @brief From consecutive placements, as `placements()` returns them.
    /// @throws error(errc::invalid_topology)  they do not cover 0..P-1, or a region has no rank
    static topology from_placements(std::span<const placement> placements);

    rank_t num_ranks() const noexcept { return num_ranks_; }
    region_t num_regions() const noexcept { return num_regions_; }

    /// @brief The region of a rank. Constant time but for the number of placements (at most 16).
    region_t region_of(rank_t rank) const;
    /// @brief A rank's place among the ranks of its region, in rank order, from 0.
    rank_t local_rank(rank_t rank) const;
    rank_t region_size(region_t region) const;
    /// @brief The rank with a given place in a region; the inverse of `local_rank`.
    rank_t rank_at(region_t region, rank_t local_rank) const;

    /// @brief The run-length code; equal topologies have equal codes.
    std::vector<placement> placements() const;

    /// @brief The shortest text that `from_string` reads back as an equal topology.
    std::string to_string() const;

    friend bool operator==(const topology&, const topology&);
};

}  // namespace crossdock
