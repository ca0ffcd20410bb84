/// @file
/// @brief Progress inside intercepted calls that wait, where MPI does not call back from its own.
#pragma once

#include <mpi.h>

#include <atomic>
#include <optional>
#include <thread>

#include "progress.hpp"

namespace crossdock::drop_in {

/// @brief Whether exchanges may be under way while the program waits in MPI, and MPI does not call back.
///
/// The ranks of MPI_COMM_WORLD agree on it in a call that is collective over all of them, so that each collective call
/// of the program finds the same on all ranks: blocking collectives of MPI's do not match nonblocking ones.
extern constinit std::atomic<bool> is_polling;

inline bool polls() noexcept {
    return is_polling.load(std::memory_order_relaxed) && !progress_engine::is_inside();
}

/// @brief From now on calls poll.
void begin_polling() noexcept;

/// @brief From now on blocking collective calls of the program may make graphs first.
void begin_watching_collectives() noexcept;

/// @brief Whether a call that waits is to make progress: something is under way.
inline bool has_to_poll() noexcept { return progress_engine::is_any_under_way() && polls(); }

/// @brief In a call that does not wait: one piece of progress, if there is any to be made.
inline void poll_once() {
    if (has_to_poll()) progress_engine::of_process().advance();
}

/// @brief Makes progress until `test(&flag)` sets the flag, or fails.
template <class Test>
int poll(Test&& test) {
    for (int is_complete = 0;; std::this_thread::yield()) {
        const int code = test(&is_complete);
        if (code != MPI_SUCCESS || is_complete) return code;
        progress_engine::of_process().advance();
    }
}

/// @brief MPI_Wait while making progress.
int poll_for(MPI_Request* request, MPI_Status* status);

/// @brief MPI_Wait, making progress if there is any to be made.
inline int wait_for(MPI_Request* request, MPI_Status* status) {
    if (request == nullptr || !has_to_poll()) return PMPI_Wait(request, status);
    return poll_for(request, status);
}

/// @brief Waits for a request while making progress.
/// @param code     of the function that made the request, which is returned if it failed
/// @param request  made by the time of the call
inline int complete(int code, MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE) {
    return code == MPI_SUCCESS ? wait_for(&request, status) : code;
}

/// @brief Around a function of MPI's that waits, is collective, and has no nonblocking twin.
///
/// When it is made, all ranks of the communicator are in the call. Until it ends no exchange of this rank begins to
/// block. MPI's function then waits only for ranks that wait for nobody outside.
class meeting {
  public:
    /// @par Collective
    /// Yes, over `comm`, which may be null: then there is no meeting.
    explicit meeting(MPI_Comm comm);

  private:
    std::optional<progress_engine::abstention> abstention_;
};

/// @brief What `own`, MPI's function, returns inside a meeting.
template <class Own>
int with_meeting(MPI_Comm comm, Own&& own) {
    std::optional<meeting> all_are_here;
    try {
        all_are_here.emplace(comm);
    } catch (...) {
        // The function itself says what is wrong with the communicator.
    }
    return own();
}

}  // namespace crossdock::drop_in
