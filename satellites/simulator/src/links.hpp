/// @file
/// @brief Links that messages take one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "crossdock/detail/base/picoseconds.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief How long a message occupies the links on its way.
struct link_times {
    picoseconds rank = 0;
    picoseconds node = 0;
    bool is_between_nodes = false;  ///< otherwise it takes no link of a node
};

/// @brief Each rank and each node has a link out and a link in, which are busy until some time.
class links {
  public:
    /// @param nodes  borrowed
    explicit links(const topology& nodes)
        : nodes_(nodes),
          ranks_(static_cast<std::size_t>(nodes.num_ranks())),
          of_nodes_(static_cast<std::size_t>(nodes.num_regions())) {}

    /// @brief Takes the links out of a message's source.
    /// @return when the message begins its way: `earliest`, or when all of them are free
    picoseconds leave(rank_t source, picoseconds earliest, const link_times& times) {
        auto& rank_out = ranks_[static_cast<std::size_t>(source)].out;
        auto begin = std::max(earliest, rank_out);
        if (times.is_between_nodes) {
            auto& node_out = of_node(source).out;
            begin = std::max(begin, node_out);
            node_out = begin + times.node;
        }
        rank_out = begin + times.rank;
        return begin;
    }

    /// @brief Takes the links into a message's destination, from its first byte on.
    /// @return when its last byte has come
    picoseconds arrive(rank_t destination, picoseconds now, const link_times& times) {
        auto& rank_in = ranks_[static_cast<std::size_t>(destination)].in;
        auto end = std::max(now, rank_in) + times.rank;
        if (times.is_between_nodes) {
            auto& node_in = of_node(destination).in;
            node_in = std::max(node_in, now) + times.node;
            end = std::max(end, node_in);
        }
        rank_in = end;
        return end;
    }

  private:
    struct busy_until {
        picoseconds out = 0;
        picoseconds in = 0;
    };

    busy_until& of_node(rank_t rank) {
        return of_nodes_[static_cast<std::size_t>(nodes_.region_of(rank))];
    }

    const topology& nodes_;
    std::vector<busy_until> ranks_;
    std::vector<busy_until> of_nodes_;
};

}  // namespace crossdock
