/// @file
/// @brief How many cores the ranks of a run have.
#pragma once

#include <optional>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief The cores that the ranks share, on all machines together; 0 where each can have its own.
///
/// Machines are told apart by what the system drew when it started, not by who shares memory:
/// containers of one machine need not share any. Its cores are those that any of its ranks may run
/// on.
/// @par Collective
/// Yes; blocks. The same on all ranks.
/// @param fault  receives what this rank alone has failed with; the ranks are yet to agree
int count_shared_cores(const communicator& comm, std::optional<error>& fault);

}  // namespace crossdock
