#include "three_step.hpp"

#include <limits>

#include "grid_shape.hpp"
#include "members.hpp"

namespace crossdock {

std::unique_ptr<route> three_step_route::make(std::string_view parameters,
                                              const topology& regions) {
    const std::string name = "three_step" + std::string(parameters);
    const rank_t max_leaders = parameters.empty() ? std::numeric_limits<rank_t>::max()
                                                  : parse_positive(parameters.substr(1), name);
    return std::unique_ptr<route>(new three_step_route(name, regions, max_leaders));
}

std::vector<std::string> three_step_route::candidates(const topology& regions, bool shares_cores) {
    if (!has_regions_of_ranks(regions)) return {};
    std::vector<std::string> names{"three_step"};
    if (shares_cores) names.emplace_back("three_step:1");
    return names;
}

// Whether a member of `region` speaks with any other by number: with region `local`, local + n, …
// where n members speak.
bool three_step_route::speaks_by_number(region_t region, rank_t local) const {
    const rank_t size = num_leaders(region);
    const rank_t first = local == region ? local + size : local;
    return local < size && first < regions().num_regions();
}

// The members of the other regions that `here` speaks with by number, in both directions: two
// regions speak through one pair of members.
std::vector<rank_t> three_step_route::spoken_with_by_number(rank_t here) const {
    const region_t region = regions().region_of(here);
    const rank_t local = regions().local_rank(here);
    std::vector<rank_t> leaders;
    if (!speaks_by_number(region, local)) return leaders;
    for (region_t other = local; other < regions().num_regions(); other += num_leaders(region)) {
        if (other != region) leaders.push_back(leader_by_number(other, region));
    }
    std::ranges::sort(leaders);
    return leaders;
}

rank_t three_step_route::next_hop(rank_t here, rank_t destination, int stage,
                                  const leader_table& leaders) const {
    const region_t from = regions().region_of(here);
    const region_t to = regions().region_of(destination);
    if (stage == 2 || from == to) return destination;
    const auto& agreed = stage == 0 ? leaders.senders : leaders.receivers;
    if (const auto entry = agreed.find(to); entry != agreed.end()) return entry->second;
    return stage == 0 ? leader_by_number(from, to) : leader_by_number(to, from);
}

stage_partners three_step_route::partners(rank_t here, int stage) const {
    if (stage == 0) return partners_inside(regions(), here);
    if (stage == 1) {
        const auto leaders = spoken_with_by_number(here);
        return {leaders, leaders};
    }
    const region_t region = regions().region_of(here);
    return partners_inside(regions(), here,
                           [&](rank_t local) { return speaks_by_number(region, local); });
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
