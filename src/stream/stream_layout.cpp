#include "crossdock/detail/stream/stream_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "crossdock/route.hpp"

namespace crossdock {

namespace {

// The topology between endpoints: where these are nodes, each counts as one rank.
topology endpoints_of(const topology& nodes, bool is_node) {
    return is_node ? topology::from_string(fmt::format("{}x1", nodes.num_regions())) : nodes;
}

// The endpoints that the route sends to from this one, by stage, ascending. The route's next hops
// in other stages are of no use: no item comes there.
std::vector<std::vector<rank_t>> destinations_of(const route& way, int endpoint) {
    std::vector<std::vector<rank_t>> result;
    for (int stage = 0; stage < way.num_stages(); ++stage) {
        result.push_back(way.partners(endpoint, stage).destinations);
    }
    return result;
}

int largest_region(const topology& nodes) {
    int largest = 0;
    for (region_t r = 0; r < nodes.num_regions(); ++r) {
        largest = std::max(largest, nodes.region_size(r));
    }
    return largest;
}

}  // namespace

stream_layout::stream_layout(const topology& nodes, std::string_view route_name,
                             stream_scheme scheme, int workers, rank_t here_rank)
    : nodes_(nodes),
      scheme_(scheme),
      num_workers_(workers),
      is_node_(scheme == stream_scheme::node),
      num_endpoints_(is_node_ ? nodes.num_regions() : nodes.num_ranks()),
      here_(endpoint_of(here_rank)),
      max_group_size_(workers * (is_node_ ? largest_region(nodes) : 1)) {
    const auto way = make_route(route_name, endpoints_of(nodes, is_node_));
    num_stages_ = std::max(way->num_stages(), 1);
    const auto partners = destinations_of(*way, here_);
    const leader_table nobody;

    const std::uint32_t own = add_buffers(here_, num_stages_);
    buffers_on_the_way_.resize(static_cast<std::size_t>(num_stages_) *
                               static_cast<std::size_t>(num_endpoints_));
    std::map<std::pair<int, int>, std::uint32_t> known;  // by stage and endpoint
    for (int endpoint = 0; endpoint < num_endpoints_; ++endpoint) {
        if (endpoint == here_) continue;
        // From the last stage to the first: an item that stays in a stage takes the buffer of the
        // next.
        std::uint32_t later = own;
        for (int stage = num_stages_ - 1; stage >= 0; --stage) {
            const int next = way->next_hop(here_, endpoint, stage, nobody);
            if (std::ranges::binary_search(partners[static_cast<std::size_t>(stage)], next)) {
                const auto [entry, is_new] = known.try_emplace({stage, next}, 0);
                if (is_new) entry->second = add_buffers(next, stage + 1);
                later = entry->second;
            }
            buffers_on_the_way_[static_cast<std::size_t>(stage) *
                                    static_cast<std::size_t>(num_endpoints_) +
                                static_cast<std::size_t>(endpoint)] = later;
        }
    }

    targets_.reserve(static_cast<std::size_t>(num_ranks()));
    for (rank_t rank = 0; rank < num_ranks(); ++rank) {
        const int endpoint = endpoint_of(rank);
        const int first_worker = !has_one_hop() ? rank : (is_node_ ? nodes_.local_rank(rank) : 0);
        targets_.push_back({endpoint == here_ ? own : buffer_on_the_way(0, endpoint),
                            static_cast<std::uint32_t>(first_worker * num_workers_)});
    }

    const bool is_told = has_one_hop() && (is_per_worker() || max_group_size_ == 1);
    const bool is_short =
        has_one_hop() && max_group_size_ <= std::numeric_limits<std::uint16_t>::max();
    tag_bytes_ = is_told ? 0 : (is_short ? 2 : 4);
}

std::uint32_t stream_layout::add_buffers(int endpoint, int stage) {
    const auto first = static_cast<std::uint32_t>(buffers_.size());
    if (is_per_worker()) {
        for (int w = 0; w < num_workers_; ++w) buffers_.push_back({endpoint, stage, w});
    } else {
        buffers_.push_back({endpoint, stage, -1});
    }
    return first;
}

}  // namespace crossdock
