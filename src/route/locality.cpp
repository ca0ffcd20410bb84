#include "block_grid.hpp"
#include "grid_shape.hpp"
#include "members.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

// Over a grid of regions, one dimension per stage, then inside the destination region.
//
// The grid is that of `grid`, with a region where that has a rank. A rank hands an item to the member of the next
// region with its own local rank, modulo that region's size. Items for the own region wait for the last stage.
//
//     "4x2", 0 to 7:   locality     0 -> 4 -> 6 -> 7       regions 0, 2, 3
//                      locality:1   0 -> 6 -> 7            regions 0, 3
//
// At most (K1 - 1) + (K2 - 1) + … messages between regions per rank, and S - 1 inside, S the largest region.
//
// Source: \cite peters2024array (its shape of this name). Differs: regions of any number, size and order.
class locality_route final : public route {
  public:
    locality_route(const std::string& name, const topology& regions, std::vector<region_t> shape)
        : route(name, regions), shape_(std::move(shape)) {}

    int num_stages() const override { return num_dimensions() + 1; }

    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table&) const override {
        if (stage == num_dimensions()) return destination;
        const region_t next =
            grid().next(regions().region_of(here), regions().region_of(destination), stage);
        return counterpart(regions(), here, next);
    }

    stage_partners partners(rank_t here, int stage) const override {
        if (stage == num_dimensions()) return partners_inside(regions(), here);
        const region_t region = regions().region_of(here);
        stage_partners result;
        for (const region_t other : grid().destinations(region, stage))
            result.destinations.push_back(counterpart(regions(), here, other));
        for (const region_t other : grid().sources(region, stage))
            add_members_with_counterpart(result.sources, regions(), here, other);
        return ascending(std::move(result));
    }

    count_t max_messages_per_rank() const override {
        return grid().max_destinations() + largest_region_size(regions()) - 1;
    }

  private:
    int num_dimensions() const { return static_cast<int>(shape_.size()); }
    block_grid grid() const { return {regions().num_regions(), shape_}; }

    std::vector<region_t> shape_;
};

}  // namespace

std::unique_ptr<route> make_locality(std::string_view parameters, const topology& regions) {
    const std::string name = "locality" + std::string(parameters);
    const region_t num_regions = regions.num_regions();
    auto shape = parameters.empty() ? hypercube_shape(num_regions)
                                    : parse_balanced_shape(parameters.substr(1), name, num_regions);
    return std::make_unique<locality_route>(name, regions, std::move(shape));
}

std::vector<std::string> locality_candidates(const topology& regions, bool) {
    std::vector<std::string> names;
    if (!has_regions_of_ranks(regions)) return names;
    if (regions.num_regions() > 4) names.emplace_back("locality:2");
    if (regions.num_regions() > 27) names.emplace_back("locality:3");
    return names;
}

}  // namespace crossdock
