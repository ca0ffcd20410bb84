/// @file
/// @brief A topology among the arguments that ranks compare.
#pragma once

#include <fmt/format.h>

#include <string>

#include "../base/named_values_mpi.hpp"
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

/// @brief A topology among arguments: hashed as above, and shown as `topology::from_string` reads it.
inline void add_topology(named_values& values, const char* name, const topology& regions) {
    values.add(name, values.keeps_text() ? regions.to_string() : agreement_text(regions));
}

}  // namespace crossdock
