/// @file
/// @brief How ranks meet as members of regions, for the routes that go by region.
#pragma once

#include <optional>
#include <vector>

#include "crossdock/route.hpp"

namespace crossdock {

/// @brief The member of `region` with the local rank of `here`, modulo the region's size; `here`
/// itself if that is its region.
rank_t counterpart(const topology& regions, rank_t here, region_t region);

/// @brief Adds the members of `region` whose counterpart is `here`.
void add_members_with_counterpart(std::vector<rank_t>& members, const topology& regions,
                                  rank_t here, region_t region);

/// @brief The size of the largest region besides `except`; 0 if there is no other.
rank_t largest_region_size(const topology& regions, std::optional<region_t> except = {});

/// @brief Whether there are several regions, and one of them has several ranks: if not, routes by region are no others
/// than those by rank.
bool has_regions_of_ranks(const topology& regions);

/// @brief The bound that `two_step` and `three_step` share: (R - 1) + 2 (S - 1).
count_t max_messages_by_region(const topology& regions);

/// @brief The partners of `here` where members of a region may send to all others of it.
/// @param sends  whether the member with a given local rank may
template <class Sends>
stage_partners partners_inside(const topology& regions, rank_t here, Sends sends) {
    const region_t region = regions.region_of(here);
    const bool here_sends = sends(regions.local_rank(here));
    stage_partners result;
    for (rank_t local = 0; local < regions.region_size(region); ++local) {
        const rank_t member = regions.rank_at(region, local);
        if (member == here) continue;
        if (here_sends) result.destinations.push_back(member);
        if (sends(local)) result.sources.push_back(member);
    }
    return result;
}

/// @brief As above, where all members may.
stage_partners partners_inside(const topology& regions, rank_t here);

/// @brief The same partners, in the order that `route::partners` promises.
stage_partners ascending(stage_partners partners);

}  // namespace crossdock
