// A route over the ranks of an array, as one rank sees it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief Where this rank's requests go, stage by stage. There is at least one stage, if without
/// partners.
struct batch_route {
    /// @throws as `make_route`
    batch_route(std::string_view route_name, const topology& where, const block_partition& of,
                rank_t rank)
        : regions(where), owners(of), here(rank), r(make_route(route_name, where)) {
        for (int s = 0; s < r->num_stages(); ++s) stages.push_back(r->partners(here, s));
        if (stages.empty()) stages.emplace_back();
    }

    std::size_t num_stages() const noexcept { return stages.size(); }

    topology regions;
    block_partition owners;
    rank_t here;
    std::unique_ptr<route> r;
    std::vector<stage_partners> stages;
};

}  // namespace crossdock
