#include "members.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

// Across to the counterpart in the destination region, then inside that region.
//
// The counterpart of a rank is the member with the same local rank modulo the region's size, so that what arrives is
// spread over the region. Items for the own region go straight to their destination in the first stage.
//
//     "2x2", rank 0 to ranks 1, 2 and 3:   0 -> 1      0 -> 2     2 -> 3
//                                          stage 0     stage 0    stage 1
//
// At most R - 1 messages between regions per rank, and 2 (S - 1) inside, S the largest region.
//
// Source: the way of messages in the locality-aware exchanges of \cite geyko2024sdde (its algorithms 4 and 5). Differs:
// the counterpart is taken modulo the size, so that regions may differ in size; equal items travel once; and the way is
// compiled for a pattern that is known.
class two_step_route final : public route {
  public:
    explicit two_step_route(const topology& regions) : route("two_step", regions) {}

    int num_stages() const override { return 2; }
    cost_trace trace() const override { return cost_trace::counterparts; }

    rank_t next_hop(rank_t here, rank_t destination, int stage,
                    const leader_table&) const override {
        const region_t region = regions().region_of(destination);
        if (stage == 1 || regions().region_of(here) == region) return destination;
        return counterpart(regions(), here, region);
    }

    stage_partners partners(rank_t here, int stage) const override {
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

    count_t max_messages_per_rank() const override { return max_messages_by_region(regions()); }
};

}  // namespace

std::unique_ptr<route> make_two_step(std::string_view parameters, const topology& regions) {
    reject_parameters("two_step", parameters);
    if (!has_regions_of_ranks(regions)) return make_one_hop("two_step", regions);
    return std::make_unique<two_step_route>(regions);
}

std::vector<std::string> two_step_candidates(const topology& regions, bool) {
    if (!has_regions_of_ranks(regions)) return {};
    return {"two_step"};
}

}  // namespace crossdock
