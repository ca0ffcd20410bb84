/// @file
/// @brief Small plans for the tests of this folder.
#pragma once

#include <vector>

#include "crossdock/plan.hpp"

namespace crossdock::test {

/// @brief Every rank has one item, for the ranks that are listed for it; slots are in the order of
/// sources.
inline std::vector<pattern> items_to(const std::vector<std::vector<rank_t>>& destinations) {
    std::vector<pattern> patterns(destinations.size());
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        patterns[p].rank = static_cast<rank_t>(p);
        patterns[p].num_ranks = static_cast<rank_t>(patterns.size());
        patterns[p].num_items = 1;
    }
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        for (const rank_t destination : destinations[p]) {
            auto& other = patterns[static_cast<std::size_t>(destination)];
            patterns[p].sends.append(destination, std::vector<count_t>{0});
            other.receives.append(static_cast<rank_t>(p), std::vector{other.num_slots++});
        }
    }
    return patterns;
}

inline std::vector<plan> plans_of(const std::vector<std::vector<rank_t>>& destinations,
                                  const char* regions, const char* route) {
    const auto topo = topology::from_string(regions);
    return compile(topo, items_to(destinations), *make_route(route, topo));
}

}  // namespace crossdock::test
