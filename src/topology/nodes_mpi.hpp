/// @file
/// @brief The nodes of a communicator, which are found out once.
#pragma once

#include <optional>

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

}  // namespace crossdock
