#include "two_step.hpp"

#include "direct.hpp"
#include "members.hpp"

namespace crossdock {

std::unique_ptr<route> two_step_route::make(std::string_view parameters, const topology& regions) {
    reject_parameters("two_step", parameters);
    return std::unique_ptr<route>(new two_step_route("two_step", regions));
}

std::vector<std::string> two_step_route::candidates(const topology& regions, bool) {
    if (!has_regions_of_ranks(regions)) return {};
    return {"two_step"};
}

rank_t two_step_route::next_hop(rank_t here, rank_t destination, int stage,
                                const leader_table&) const {
    const region_t region = regions().region_of(destination);
    if (stage == 1 || regions().region_of(here) == region) return destination;
    return counterpart(regions(), here, region);
}

stage_partners two_step_route::partners(rank_t here, int stage) const {
    const region_t region = regions().region_of(here);
    if (stage == 1) {
        const rank_t num_counterparts = largest_region_size(regions(), region);
        return partners_inside(regions(), here,
                               [&](rank_t local) { return local < num_counterparts; });
    }
    stage_partners result = partners_inside(regions(), here);
    for (region_t other = 0; other < regions().num_regions(); ++other) {
        if (other == region) continue;
        result.destinations.push_back(counterpart(regions(), here, other));
        add_members_with_counterpart(result.sources, regions(), here, other);
    }
    return ascending(std::move(result));
}

count_t two_step_route::max_messages_per_rank() const { return max_messages_by_region(regions()); }

}  // namespace crossdock
