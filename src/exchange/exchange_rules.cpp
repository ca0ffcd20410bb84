#include "crossdock/detail/exchange/exchange_rules.hpp"

#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

// A rank more that speaks with other nodes costs more than a few messages more of one that does so anyway.
constexpr region_t nodes_per_leader = 8;

}  // namespace

void check_sized_message(rank_t source, rank_t destination, count_t bytes, rank_t num_ranks) {
    if (destination < 0 || destination >= num_ranks) {
        throw_error_of(source, errc::rank_out_of_range,
                       "destination {} of rank {} is outside [0, {})", destination, source,
                       num_ranks);
    }
    if (bytes < 0) {
        throw_error_of(source, errc::invalid_argument,
                       "the message of rank {} to rank {} has {} bytes", source, destination,
                       bytes);
    }
}

std::unique_ptr<route> make_inside_route(rank_t num_members, const machine& m) {
    const auto members = topology::one_region(num_members);
    return make_route(choose_exchange_algorithm(members, m).route, members);
}

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
