/// @file
/// @brief Names of MPI's functions for persistent collectives, if it has them.
///
/// MPI 4.0 has MPI_Neighbor_alltoall_init and the others; Open MPI 4.1 has them as MPIX_. In
/// Fortran they have the same names in small letters.
#pragma once

#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif

#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define CROSSDOCK_INIT(name) MPI_##name##_init
#define CROSSDOCK_OWN_INIT(name) PMPI_##name##_init
#define CROSSDOCK_FORTRAN_INIT_NAME(name) mpi_##name##_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define CROSSDOCK_INIT(name) MPIX_##name##_init
#define CROSSDOCK_OWN_INIT(name) PMPIX_##name##_init
#define CROSSDOCK_FORTRAN_INIT_NAME(name) mpix_##name##_init
#endif
