#pragma once

#include <vector>

#include "crossdock/route/route.hpp"

namespace crossdock::test {

/// What members of `region` could have agreed on: partners chosen by region number.
inline speaker_table speakers_of(const topology& regions, region_t region) {
    const auto member_for = [&](region_t of, region_t with) {
        return regions.rank_at(of, with % regions.region_size(of));
    };
    speaker_table table;
    for (region_t other = 0; other < regions.num_regions(); ++other) {
        table.senders[other] = member_for(region, other);
        table.receivers[other] = member_for(other, region);
    }
    return table;
}

/// Where an item is before each stage and after the last: h(0), h(1), …
inline std::vector<rank_t> path(const route& r, const topology& regions, rank_t source,
                                rank_t destination) {
    std::vector<rank_t> hops{source};
    for (int stage = 0; stage < r.num_stages(); ++stage) {
        const rank_t here = hops.back();
        const auto speakers =
            r.is_balanced() ? speakers_of(regions, regions.region_of(here)) : speaker_table{};
        hops.push_back(r.next_hop(here, destination, stage, speakers));
    }
    return hops;
}

}  // namespace crossdock::test
