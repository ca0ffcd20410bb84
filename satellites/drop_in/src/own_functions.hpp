/// @file
/// @brief Names of MPI's functions that not all MPIs have: for persistent collectives, and with large counts.
///
/// MPI 4.0 has MPI_Neighbor_alltoall_init and the others; Open MPI 4.1 has them as MPIX_. In
/// Fortran they have the same names in small letters.
#pragma once

#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif

#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define CROSSDOCK_INIT(name, suffix) MPI_##name##_init##suffix
#define CROSSDOCK_OWN_INIT(name, suffix) PMPI_##name##_init##suffix
#define CROSSDOCK_FORTRAN_INIT_NAME(name) mpi_##name##_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define CROSSDOCK_INIT(name, suffix) MPIX_##name##_init##suffix
#define CROSSDOCK_OWN_INIT(name, suffix) PMPIX_##name##_init##suffix
#define CROSSDOCK_FORTRAN_INIT_NAME(name) mpix_##name##_init
#endif

namespace crossdock::drop_in {

/// @brief What counts values in a call, in the widest form that the MPI has; CROSSDOCK_WIDEST is its function of it.
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
using value_count = MPI_Count;
#define CROSSDOCK_WIDEST(name) PMPI_##name##_c
#else
using value_count = int;
#define CROSSDOCK_WIDEST(name) PMPI_##name
#endif

}  // namespace crossdock::drop_in
