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

/// @brief The beginning of a call that all ranks make, unless it is part of another. With CROSSDOCK_WATCHDOG they meet,
/// before anything is done that nobody can leave. With `throw` there or CROSSDOCK_CHECK they compare what they call.
///
/// `agree` begins with one, so that nobody who agrees first needs it.
/// @param name  such as "making a stream", or what is made, such as "a stream"
/// @par Collective
/// Yes; blocks then.
/// @throws error(errc::timeout)           on the ranks that have waited too long; the communicator is closed
/// @throws error(errc::invalid_argument)  on all ranks: they make different calls
class collective_call : watched_wait {
  public:
    collective_call(const char* name, const communicator& comm);
};

/// @brief Whether a name of a call is that of what it makes.
inline bool is_made(std::string_view name) {
    return name.starts_with("a ") || name.starts_with("an ");
}

/// @brief In MPI_COMM_WORLD.
rank_t world_rank(MPI_Comm of, rank_t rank);

}  // namespace crossdock
