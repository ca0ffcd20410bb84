/// @file
/// @brief The nodes of a communicator, which are found out once.
#pragma once

#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief As `discover_topology(comm)`; the same object at every call.
/// @return lives as long as the communicator is open
/// @par Collective
/// Yes; blocks where it is asked for the first time, and never again.
const topology& nodes_of(const communicator& comm);

}  // namespace crossdock
