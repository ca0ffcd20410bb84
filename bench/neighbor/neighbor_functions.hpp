/// @file
/// @brief MPI's neighborhood collectives, of MPI itself and of the drop-in.
#pragma once

#include <mpi.h>

namespace crossdock::bench {

/// @brief The functions that a program exchanges by.
struct neighbor_functions {
    decltype(&MPI_Dist_graph_create_adjacent) create_graph;
    decltype(&MPI_Comm_free) free_graph;
    decltype(&MPI_Neighbor_alltoallv) exchange;
    decltype(&MPI_Ineighbor_alltoallv) start_exchange;
    /// MPI_Neighbor_alltoallv_init, or Open MPI's extension of that kind; null where there is neither.
    int (*make_persistent)(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                           const int*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
    decltype(&MPI_Start) start;
    decltype(&MPI_Wait) wait;
    decltype(&MPI_Request_free) free_request;
};

/// @brief MPI's own.
const neighbor_functions& functions_of_mpi();

/// @brief Those of libcrossdock_mpi.so, which is loaded at the first call and takes nothing else over.
/// @throws error(errc::file_error)  it cannot be loaded
const neighbor_functions& functions_of_drop_in();

}  // namespace crossdock::bench
