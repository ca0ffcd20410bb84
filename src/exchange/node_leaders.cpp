#include "node_leaders.hpp"

namespace crossdock {

namespace {

// A rank more that speaks with other nodes costs more than a few messages more of one that does so anyway.
constexpr region_t nodes_per_leader = 8;

}  // namespace

node_leaders leaders_between(const topology& nodes, region_t from, region_t to) {
    const region_t num_nodes = nodes.num_regions();
    const region_t places_further = (to - from + num_nodes) % num_nodes;
    const auto leader_of = [&](region_t node) {
        return nodes.rank_at(node,
                             (places_further - 1) / nodes_per_leader % nodes.region_size(node));
    };
    return {leader_of(from), leader_of(to)};
}

}  // namespace crossdock
