/// @file
/// @brief Neighborhood collectives as a program calls them: blocking, nonblocking and persistent.
#pragma once

#include <mpi.h>

#include <optional>

#include "basics.hpp"
#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief Whether MPI's function is to make the call that comes now; it is then counted. The same on all ranks.
/// @param form  a blocking call first waits for its turn; others need not be asked about
bool leaves(graph& on, block_kind kind, call_form form, call_facts* facts);

/// @brief MPI's code for MPI_DATATYPE_NULL as the datatype of an empty block; MPI_SUCCESS if it takes it.
int code_of_null_types();

/// @brief A call with copies of the buffers, so that the program may do with its own what it likes. Nobody gets what it
/// receives.
/// @param call  its destinations have blocks of their own
neighbor_call copy_of(const neighbor_call& call);

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
/// @param request  inactive
/// @return as `exchange`; nothing if MPI is to make the request, on all ranks
std::optional<int> make_persistent(neighbor_call call, MPI_Request* request);

}  // namespace crossdock::drop_in
