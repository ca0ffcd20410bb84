#include "members.hpp"

#include <algorithm>

namespace crossdock {

rank_t counterpart(const topology& regions, rank_t here, region_t region) {
    return regions.rank_at(region, regions.local_rank(here) % regions.region_size(region));
}

void add_counterparts(stage_partners& partners, const topology& regions, rank_t here,
                      region_t other) {
    partners.destinations.push_back(counterpart(regions, here, other));
    const rank_t own_size = regions.region_size(regions.region_of(here));
    const rank_t other_size = regions.region_size(other);
    for (rank_t local = regions.local_rank(here); local < other_size; local += own_size)
        partners.sources.push_back(regions.rank_at(other, local));
}

stage_partners partners_inside(const topology& regions, rank_t here) {
    return partners_inside(regions, here, [](rank_t) { return true; });
}

stage_partners ascending(stage_partners partners) {
    std::ranges::sort(partners.destinations);
    std::ranges::sort(partners.sources);
    return partners;
}

}  // namespace crossdock
