#include "locality.hpp"

#include "block_grid.hpp"
#include "grid_shape.hpp"
#include "members.hpp"

namespace crossdock {

std::unique_ptr<route> locality_route::make(std::string_view parameters, const topology& regions) {
    const std::string name = "locality" + std::string(parameters);
    const region_t num_regions = regions.num_regions();
    auto shape = parameters.empty() ? hypercube_shape(num_regions)
                                    : parse_balanced_shape(parameters.substr(1), name, num_regions);
    return std::unique_ptr<route>(new locality_route(name, regions, std::move(shape)));
}

std::vector<std::string> locality_route::candidates(const topology& regions, bool) {
    std::vector<std::string> names;
    if (!has_regions_of_ranks(regions)) return names;
    if (regions.num_regions() > 4) names.emplace_back("locality:2");
    if (regions.num_regions() > 27) names.emplace_back("locality:3");
    return names;
}

rank_t locality_route::next_hop(rank_t here, rank_t destination, int stage,
                                const leader_table&) const {
    if (stage == num_dimensions()) return destination;
    const block_grid grid(regions().num_regions(), shape_);
    const region_t next =
        grid.next(regions().region_of(here), regions().region_of(destination), stage);
    return counterpart(regions(), here, next);
}

stage_partners locality_route::partners(rank_t here, int stage) const {
    if (stage == num_dimensions()) return partners_inside(regions(), here);
    const block_grid grid(regions().num_regions(), shape_);
    const region_t region = regions().region_of(here);
    stage_partners result;
    for (const region_t other : grid.destinations(region, stage))
        result.destinations.push_back(counterpart(regions(), here, other));
    for (const region_t other : grid.sources(region, stage))
        add_members_with_counterpart(result.sources, regions(), here, other);
    return ascending(std::move(result));
}

count_t locality_route::max_messages_per_rank() const {
    return block_grid(regions().num_regions(), shape_).max_destinations() +
           largest_region_size(regions()) - 1;
}

}  // namespace crossdock
