#include "three_step.hpp"

#include <algorithm>

#include "direct.hpp"
#include "members.hpp"
#include "two_step.hpp"

namespace crossdock {

namespace {

// The member of `region` that speaks with `other` where nothing else is agreed.
rank_t leader_by_number(const topology& regions, region_t region, region_t other) {
    return regions.rank_at(region, other % regions.region_size(region));
}

// Whether a member of `region` speaks with any other by number: with region `local`, local + size,
// …
bool speaks_by_number(const topology& regions, region_t region, rank_t local) {
    const rank_t first = local == region ? local + regions.region_size(region) : local;
    return first < regions.num_regions();
}

// The members of the other regions that `here` speaks with by number, in both directions: two
// regions speak through one pair of members.
std::vector<rank_t> spoken_with_by_number(const topology& regions, rank_t here) {
    const region_t region = regions.region_of(here);
    const rank_t size = regions.region_size(region);
    std::vector<rank_t> leaders;
    for (region_t other = regions.local_rank(here); other < regions.num_regions(); other += size) {
        if (other != region) leaders.push_back(leader_by_number(regions, other, region));
    }
    std::ranges::sort(leaders);
    return leaders;
}

}  // namespace

std::unique_ptr<route> three_step_route::make(std::string_view parameters,
                                              const topology& regions) {
    reject_parameters("three_step", parameters);
    return std::unique_ptr<route>(new three_step_route("three_step", regions));
}

rank_t three_step_route::next_hop(rank_t here, rank_t destination, int stage,
                                  const leader_table& leaders) const {
    const region_t from = regions().region_of(here);
    const region_t to = regions().region_of(destination);
    if (stage == 2 || from == to) return destination;
    const auto& agreed = stage == 0 ? leaders.senders : leaders.receivers;
    if (const auto entry = agreed.find(to); entry != agreed.end()) return entry->second;
    return stage == 0 ? leader_by_number(regions(), from, to)
                      : leader_by_number(regions(), to, from);
}

stage_partners three_step_route::partners(rank_t here, int stage) const {
    if (stage == 0) return partners_inside(regions(), here);
    if (stage == 1) {
        const auto leaders = spoken_with_by_number(regions(), here);
        return {leaders, leaders};
    }
    const region_t region = regions().region_of(here);
    return partners_inside(
        regions(), here, [&](rank_t local) { return speaks_by_number(regions(), region, local); });
}

// Any member may receive for its region, but then its items are inside.
std::optional<stage_partners> three_step_route::certain_partners(rank_t here, int stage) const {
    if (stage != 2) return std::nullopt;
    return partners_inside(regions(), here);
}

count_t three_step_route::max_messages_per_rank() const {
    return max_messages_by_region(regions());
}

}  // namespace crossdock
