/// @file
/// @brief Who sends and receives for a node, where there is one message between any two nodes.
#pragma once

#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief The ranks that carry what node `from` has for node `to`, which is another one.
///
/// The members of a node share out the others by eights, the next ones first: the first member sends
/// to those 1 to 8 places further and receives from those as many places before, the second has those
/// 9 to 16 places away, and so on, in turn.
struct node_leaders {
    rank_t sender = 0;
    rank_t receiver = 0;
};

node_leaders leaders_between(const topology& nodes, region_t from, region_t to);

}  // namespace crossdock
