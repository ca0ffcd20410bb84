/// @file
/// @brief The nodes of a communicator, which are found out once, and topologies among the arguments that ranks compare.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "../base/named_values_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief As `discover_topology(comm)`; the same object at every call.
/// @return lives as long as the communicator is open
/// @par Collective
/// Yes; blocks where it is asked for the first time, and never again.
const topology& nodes_of(const communicator& comm);

/// @brief Who shares memory: the ranks of a region of `allowed`, as far as they are on one node; without it, all that
/// are on one node. The one rule for all objects of a context whose `nodes()` are `allowed`.
/// @param allowed  of the communicator's ranks, and equal on all of them
/// @par Collective
/// As `nodes_of(comm)`.
topology nodes_of(const communicator& comm, const std::optional<topology>& allowed);

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
