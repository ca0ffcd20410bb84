/// @file
/// @brief Neighborhood collectives as a program calls them: blocking, nonblocking and persistent.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief MPI's code of the exception in flight; MPI_Error_string has its sentence.
int current_code() noexcept;

/// @brief Whether the call that comes now is to be made by MPI, on `on.as_called()`; it is then counted.
/// @param form  a blocking call first waits for its turn, and all ranks then get the same answer; a nonblocking one
///              does not, and `start_exchange` does on some ranks what MPI does on others
bool leaves(graph& on, block_kind kind, call_form form, call_facts* facts);

/// @brief Exchanges, and waits.
/// @return MPI_SUCCESS, or an error code that no error handler has seen
int exchange(neighbor_call call);

/// @brief Starts an exchange.
/// @param request  of MPI's own, complete when the exchange is
/// @return as `exchange`
int start_exchange(neighbor_call call, MPI_Request* request);

/// @brief Makes a persistent exchange.
///
/// The ranks of a communicator start such exchanges in any order, so nothing is left to be agreed on then.
/// @param request  inactive; `start_persistent` starts it, and MPI completes it
/// @return as `exchange`; nothing if MPI is to make the request, on all ranks
std::optional<int> make_persistent(neighbor_call call, MPI_Request* request);

/// @brief How many requests that the program holds are this library's, of each hash of their handles.
extern constinit std::array<std::atomic<int>, 256> num_own_requests;

inline std::size_t hash_of(MPI_Request request) noexcept {
    const std::size_t bits = std::hash<MPI_Request>{}(request);
    return (bits >> 6 ^ bits >> 14) % num_own_requests.size();
}

/// @brief False for most requests that are not this library's.
inline bool may_be_own(MPI_Request request) noexcept {
    return num_own_requests[hash_of(request)].load(std::memory_order_relaxed) > 0;
}

/// @brief Starts the exchange of a request of `make_persistent`, which MPI has started; nothing if it is another one.
void start_persistent(MPI_Request request);

/// @brief Waits until those of the requests that are this library's are complete, faster than MPI's wait calls back.
void wait_for_own(std::span<const MPI_Request> requests);

/// @brief Whether one of the requests is this library's, has failed, and was not asked for by `take_failure`.
bool has_failed(std::span<const MPI_Request> requests);

/// @brief The code of a request that MPI has waited for: what failed, if it was this library's.
/// @param code  of MPI's wait
/// @return      a code that error handlers have seen
int take_failure(MPI_Request request, int code);

/// @brief Frees what is behind a request of `make_persistent`; nothing if it is another one.
void forget_persistent(MPI_Request request);

/// @brief Whether a request is one of this library's that is not complete.
bool is_own(MPI_Request request);

}  // namespace crossdock::drop_in
