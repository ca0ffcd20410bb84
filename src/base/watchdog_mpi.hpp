/// @file
/// @brief The lines of CROSSDOCK_WATCHDOG, and what calls that all ranks make begin with.
#pragma once

#include "crossdock/communicator.hpp"
#include "watchdog.hpp"

namespace crossdock {

/// @brief Begins to watch this process, if CROSSDOCK_WATCHDOG asks for it here and can be read.
void start_watchdog() noexcept;
/// @throws error(errc::invalid_argument)  it is neither empty nor SECONDS[:throw][:FILE]
void check_watchdog();
/// @brief No context is open any more.
void stop_watchdog() noexcept;

/// @brief With CROSSDOCK_WATCHDOG=SECONDS:throw, waits until all ranks are here, before anything is done that nobody
/// can leave.
/// @par Collective
/// Yes; blocks then.
/// @throws error(errc::timeout)  on the ranks that have waited too long; the communicator is closed
void meet_if_watched(const communicator& comm);

/// @brief The beginning of a call that all ranks make: they meet, and with CROSSDOCK_CHECK compare what they call.
/// @par Collective
/// Yes; blocks then.
/// @throws error(errc::timeout)           on the ranks that have waited too long; the communicator is closed
/// @throws error(errc::invalid_argument)  on all ranks: they make different calls
class collective_call : watched_wait {
  public:
    collective_call(const char* name, const communicator& comm);
};

/// @brief In MPI_COMM_WORLD.
rank_t world_rank(MPI_Comm of, rank_t rank);

}  // namespace crossdock
