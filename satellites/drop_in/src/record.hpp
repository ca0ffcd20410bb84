/// @file
/// @brief Patterns that are written down for the tools: CROSSDOCK_RECORD.
#pragma once

#include "crossdock/context.hpp"
#include "crossdock/pattern.hpp"

namespace crossdock::drop_in {

/// @brief Writes the pattern of a plan into the folder that CROSSDOCK_RECORD names; nothing if it is not set.
///
/// `graph<number>.<plan>.mtx`, and `.owners` beside it, are as `write_pattern` writes them. A
/// communicator whose first rank is r > 0 of all writes `rank<r>.graph...`.
/// @param number  of the communicator
/// @param plan    of its plans
/// @param bytes   of an item, for the comment in the file
/// @par Collective
/// Yes; waits for all ranks. A file that cannot be written is left out.
void record_pattern(const context& where, const pattern& p, int number, int plan, int bytes);

}  // namespace crossdock::drop_in
