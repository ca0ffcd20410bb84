/// @file
/// @brief How far ranks are from each other.
#pragma once

#include <array>
#include <utility>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How far two ranks are from each other.
enum class locality_level {
    self,     ///< the same rank
    region,   ///< the same node and region
    node,     ///< the same node, another region
    network,  ///< another node
};

inline constexpr std::size_t num_locality_levels = 4;

/// @brief The levels' names, nearest first: "self", "region", "node", "network".
inline constexpr std::array<const char*, num_locality_levels> locality_level_names{
    "self", "region", "node", "network"};

/// @brief The regions that routes know, and the nodes that ranks really share.
///
/// Often they are the same. Where regions are sockets, a node has several; where nodes are larger
/// regions of any kind, that is fine as well.
///
///     regions "4x2", nodes "2x4"      0 and 1: region    0 and 2: node    0 and 4: network
class rank_layout {
  public:
    /// @brief Every region is a node.
    explicit rank_layout(topology regions) : regions_(std::move(regions)), nodes_(regions_) {}

    /// @throws error(errc::size_mismatch)  they have different numbers of ranks
    rank_layout(topology regions, topology nodes);

    const topology& regions() const noexcept { return regions_; }
    const topology& nodes() const noexcept { return nodes_; }
    rank_t num_ranks() const noexcept { return regions_.num_ranks(); }

    /// @throws error(errc::rank_out_of_range)  one is outside [0, P)
    locality_level level_of(rank_t a, rank_t b) const;

  private:
    topology regions_;
    topology nodes_;
};

}  // namespace crossdock
