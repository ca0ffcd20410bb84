/// @file
/// @brief The machine that is assumed where nobody names one.
#pragma once

#include "crossdock/communicator.hpp"
#include "crossdock/machine.hpp"

namespace crossdock {

/// @brief `default_machine()`; or where ranks are more than cores, "shared_cores" with as many
/// cores.
///
/// Ranks that take turns on a core are no part of a production run, and price stages and messages
/// by other numbers: a stage is a turn of every rank, and a message keeps others from working.
/// @return lives as long as the communicator is open; the same on all ranks, and at every call
/// @par Collective
/// Yes; blocks when it is asked for the first time, and never again.
const machine& assumed_machine(const communicator& comm);

}  // namespace crossdock
