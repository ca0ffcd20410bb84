/// @file
/// @brief Schedules for other simulators.
#pragma once

#include <iosfwd>
#include <string>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Writes a schedule in GOAL, the text that LogGOPSim's txt2bin reads.
///
///     rank 1 of a path forwards 8 bytes of rank 0 to rank 2, and copying them takes 5 ns
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
/// Copying is a `calc` of nanoseconds, rounded, before a send and after a receive; below half a
/// nanosecond there is none. Messages in shared memory are messages like all others. Everything else that a
/// machine has is not in the file: the other simulator has its own parameters.
/// @param m  says how long copying takes
/// @par Complexity
/// Writes rank by rank and keeps the lines of one rank only.
/// @par Source
/// \cite hoefler2010loggopsim, Sec. 3: GOAL's operations are sends, receives and computation, and
/// `requires` is its dependency on completion.
void write_goal(std::ostream& to, const schedule& s, const machine& m);

/// @brief The same as one text.
std::string to_goal(const schedule& s, const machine& m);

}  // namespace crossdock
