/// @file
/// @brief A topology for `agreement_hash`.
#pragma once

#include <fmt/format.h>

#include <string>

#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief Words that do not grow with the ranks of an ordinary placement; equal for equal
/// topologies only.
inline std::string agreement_text(const topology& regions) {
    std::string text;
    for (const auto& p : regions.placements()) {
        text += fmt::format(" {} {} {} {} {}", p.first_rank, p.num_ranks, p.first_region,
                            p.num_regions, p.run_length);
    }
    return text;
}

}  // namespace crossdock
