/// @file
/// @brief Neighborhood collectives as a program calls them: blocking, nonblocking and persistent.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <vector>

#include "graph.hpp"

namespace crossdock::drop_in {

/// @brief A call, in the form of MPI_Neighbor_alltoallw with displacements in bytes.
struct neighbor_call {
    std::shared_ptr<graph> on;
    call_side sends;
    call_side receives;

    call_layout layout() const { return {sends.layout(), receives.layout()}; }
};

/// @brief MPI's code of the exception in flight; MPI_Error_string has its sentence.
int current_code() noexcept;

/// @brief Exchanges, and waits.
/// @return MPI_SUCCESS, or an error code that no error handler has seen
int exchange(neighbor_call call);

/// @brief Starts an exchange.
/// @param request  a request as MPI's own, complete when the exchange is
int start_exchange(neighbor_call call, MPI_Request* request);

/// @brief Makes a persistent exchange.
///
/// The ranks of a communicator start such exchanges in any order, so nothing is left to be agreed on then.
/// @param request  inactive; `start_persistent` starts it, and MPI completes it
/// @param by_mpi   makes MPI's own request, where that is faster
int make_persistent(neighbor_call call, MPI_Request* request, const std::function<int()>& by_mpi);

/// @brief Starts the exchange of a request of `make_persistent`, which MPI has started; nothing if it is another one.
int start_persistent(MPI_Request request);

/// @brief Whether there are any.
bool has_persistent() noexcept;

/// @brief Frees what is behind a request of `make_persistent`; nothing if it is another one.
void forget_persistent(MPI_Request request);

}  // namespace crossdock::drop_in
