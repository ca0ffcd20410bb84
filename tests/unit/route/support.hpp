#pragma once

#include <vector>

#include "crossdock/route.hpp"

namespace crossdock::test {

/// Where an item is before each stage and after the last: h(0), h(1), …, where no
/// leaders are agreed.
inline std::vector<rank_t> path(const route& r, rank_t source, rank_t destination) {
    std::vector<rank_t> hops{source};
    for (int stage = 0; stage < r.num_stages(); ++stage)
        hops.push_back(r.next_hop(hops.back(), destination, stage, {}));
    return hops;
}

}  // namespace crossdock::test
