#pragma once

#include <string_view>
#include <vector>

#include "crossdock/plan.hpp"

namespace crossdock::test {

/// A plan's contents, to be changed and made a plan again.
inline plan::contents contents_of(const plan& p) {
    return {p.rank(),      p.num_ranks(), p.route(),      p.is_deduplicated(),  p.num_items(),
            p.num_slots(), p.stages(),    p.deliveries(), p.item_destinations()};
}

inline std::vector<plan> compile_route(std::string_view route_name, const topology& regions,
                                       std::span<const pattern> patterns, bool deduplicate = true) {
    return compile(regions, patterns, *make_route(route_name, regions),
                   {.deduplicate = deduplicate});
}

}  // namespace crossdock::test
