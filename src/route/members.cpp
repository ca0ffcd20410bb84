#include "members.hpp"

#include <algorithm>

namespace crossdock {

rank_t counterpart(const topology& regions, rank_t here, region_t region) {
    return regions.rank_at(region, regions.local_rank(here) % regions.region_size(region));
}

void add_members_with_counterpart(std::vector<rank_t>& members, const topology& regions,
                                  rank_t here, region_t region) {
    const rank_t own_size = regions.region_size(regions.region_of(here));
    const rank_t size = regions.region_size(region);
    for (rank_t local = regions.local_rank(here); local < size; local += own_size)
        members.push_back(regions.rank_at(region, local));
}

rank_t largest_region_size(const topology& regions, std::optional<region_t> except) {
    rank_t largest = 0;
    for (region_t region = 0; region < regions.num_regions(); ++region) {
        if (region != except) largest = std::max(largest, regions.region_size(region));
    }
    return largest;
}

bool has_regions_of_ranks(const topology& regions) {
    return regions.num_regions() > 1 && regions.num_regions() < regions.num_ranks();
}

count_t max_messages_by_region(const topology& regions) {
    return (regions.num_regions() - 1) + count_t{2} * (largest_region_size(regions) - 1);
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
