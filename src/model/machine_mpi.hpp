// The machine that a communicator's ranks are taken to run on.
#pragma once

#include <string>

#include "crossdock/communicator.hpp"
#include "crossdock/machine.hpp"

namespace crossdock {

/// @brief `default_machine()`; or where ranks are more than cores, "shared_cores" with as many
/// cores.
///
/// Ranks that take turns on a core are no part of a production run, and price stages and messages
/// by other numbers: a stage is a turn of every rank, and a message keeps others from working.
/// @return lives as long as the communicator is open; the same on all ranks, and at every call
/// Collective; blocks when it is asked for the first time, and never again.
const machine& assumed_machine(const communicator& comm);

/// @brief What CROSSDOCK_MACHINE says in the environment of rank 0, or else `assumed_machine`.
///
/// It is a preset's name or a file, which rank 0 alone reads. The same machine on all ranks, and
/// the same object at every call. Parts that are split off later have it, too.
/// @return lives as long as the communicator is open
/// Collective; blocks where it is asked for the first time, or has failed before, and never again.
/// @throws error  on all ranks, as `load_machine`; with the variable's name
const machine& machine_of(const communicator& comm);

/// @brief A preset, or the machine of a file that rank 0 alone reads; the same on all ranks.
/// @param name  counts on rank 0
/// Collective; blocks.
/// @throws error  on all ranks, as `load_machine`
machine load_machine_of_first(const communicator& comm, const std::string& name);

}  // namespace crossdock
