/// @file
/// @brief What static routes put on the links between routers.
#pragma once

#include <vector>

#include "crossdock/schedule.hpp"
#include "crossdock/topology.hpp"

namespace crossdock::bench {

/// @brief Routers in a grid, numbered along its first dimension first; so are nodes, several on a router.
struct network {
    bool is_torus =
        true;  ///< else a router has a link to every other one of its row in each dimension
    rank_t router_nodes = 1;
    std::vector<rank_t> sizes = {};  ///< of the dimensions
};

/// @brief Of each tag in ascending order, and of each dimension, the bytes on the link that carries most.
///
/// A message takes one dimension after the other, on a torus the shorter way round; half-way round, those that start at
/// even places go up.
///
///     torus of 4 routers, 0 to 2 and 1 to 2:   0 -> 1 -> 2 carries both on its second link
///
/// @throws error(errc::size_mismatch)  there are not as many nodes as the routers have
std::vector<std::vector<count_t>> most_link_bytes(const schedule& work, const topology& nodes,
                                                  const network& where);

}  // namespace crossdock::bench
