/// @file
/// @brief Collective operations that a rank takes part in even if MPI refuses at first.
#pragma once

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief Makes a call of MPI, and once more if MPI refuses: for what other ranks wait for.
/// @param call  returns what MPI returns
/// @throws mpi_error  MPI has refused twice
template <class Call>
void insist(Call&& call) {
    if (call() != MPI_SUCCESS) CROSSDOCK_MPI(call());
}

/// @brief Takes part in a collective operation, as all other ranks expect, and waits for it.
/// @param begin  calls MPI's nonblocking operation with the request it gets, and returns what it
/// returns
/// @par Collective
/// Yes; makes progress on all work meanwhile.
template <class Begin>
void run_collective(const communicator& comm, Begin&& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    insist([&] { return begin(&request); });
    comm.wait(request);
}

}  // namespace crossdock
