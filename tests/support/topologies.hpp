/// @file
/// @brief The placements of ranks that every route must cope with.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "crossdock/topology.hpp"

namespace crossdock::test {

/// @brief The largest divisor of `n` that is at most its square root.
inline rank_t middle_divisor(rank_t n) {
    rank_t result = 1;
    for (rank_t k = 2; k * k <= n; ++k) {
        if (n % k == 0) result = k;
    }
    return result;
}

/// @brief Even, uneven, dealt round-robin, and irregular regions; one region, and one per rank.
inline std::vector<topology> conformance_topologies(rank_t num_ranks) {
    const auto even = std::to_string(middle_divisor(num_ranks)) + "x" +
                      std::to_string(num_ranks / middle_divisor(num_ranks));
    std::vector<topology> result{
        topology::one_region(num_ranks), topology::from_string(std::to_string(num_ranks) + "x1"),
        topology::from_string(even), topology::from_string("cyclic:" + even)};
    if (num_ranks > 1) {
        const rank_t small = (num_ranks + 2) / 4;
        result.push_back(
            topology::from_string(std::to_string(small) + "," + std::to_string(num_ranks - small)));
    }
    std::mt19937_64 random(1);
    std::vector<region_t> regions(static_cast<std::size_t>(num_ranks));
    for (auto& region : regions) region = static_cast<region_t>(random() % 4);
    result.push_back(topology::from_regions(regions));
    return result;
}

}  // namespace crossdock::test
