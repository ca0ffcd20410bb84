/// @file
/// @brief Writes schedules in the format GOAL, for other simulators.
#pragma once

#include <iosfwd>
#include <string>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Writes a schedule in GOAL, the text that LogGOPSim's txt2bin reads.
///
///     rank 0 sends 8 bytes to rank 1, which copies them in 5 ns and forwards them to rank 2:
///
///         num_ranks 3
///         ...
///         rank 1 {
///         l1: recv 8b from 0 tag 0
///         l2: calc 5
///         l2 requires l1
///         l3: send 8b to 2 tag 0
///         l3 requires l2
///         }
///
/// Copying is a `calc` of whole nanoseconds, before a send and after a receive; less than half a
/// nanosecond is left out. Items that go through shared memory are written as messages. The file
/// has no other parameter of the machine, as the other simulator has its own.
/// @param m  the machine, which determines how long copying takes
/// @par Complexity
/// Time linear in the schedule; memory for the lines of one rank.
/// @par Source
/// \cite hoefler2010loggopsim, Sec. 3: GOAL's operations are sends, receives and computation, and
/// `requires` is its dependency on completion.
void write_goal(std::ostream& to, const schedule& s, const machine& m);

/// @brief The text that `write_goal` writes.
std::string to_goal(const schedule& s, const machine& m);

}  // namespace crossdock
