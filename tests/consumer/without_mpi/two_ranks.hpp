// Plans of two ranks in two regions: rank 0 sends its only item to rank 1.
#pragma once

#include <vector>

#include "crossdock/core.hpp"

inline std::vector<crossdock::pattern> two_patterns() {
    const std::vector<crossdock::rank_t> ranks{0, 1};
    const std::vector<crossdock::count_t> one{1};
    const std::vector<crossdock::count_t> first{0};
    return {crossdock::pattern_from_neighbor_alltoallv(0, 2,
                                                       {.destinations = std::span(&ranks[1], 1),
                                                        .send_counts = one,
                                                        .send_displacements = first}),
            crossdock::pattern_from_neighbor_alltoallv(1, 2,
                                                       {.sources = std::span(&ranks[0], 1),
                                                        .receive_counts = one,
                                                        .receive_displacements = first})};
}

inline std::vector<crossdock::plan> plans_of(const crossdock::topology& regions,
                                             const std::vector<crossdock::pattern>& patterns) {
    return compile(regions, patterns, *crossdock::make_route("direct", regions));
}
