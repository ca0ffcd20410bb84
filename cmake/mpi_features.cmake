# What the MPI has, asked by symbol: Open MPI 4.1 has the persistent neighborhood collectives under names of its own.
# crossdock_mpi_features: what sources that use them are compiled with.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_cxx_source_compiles("#include <mpi.h>
  int main() { return &MPI_Neighbor_alltoallv_init == nullptr; }" CROSSDOCK_HAS_NEIGHBOR_INIT)
check_cxx_source_compiles("#include <mpi.h>
  #include <mpi-ext.h>
  int main() { return &MPIX_Neighbor_alltoallv_init == nullptr; }" CROSSDOCK_HAS_MPI_EXTENSIONS)
check_cxx_source_compiles("#include <mpi.h>
  int main() { return &MPI_Neighbor_alltoallv_c == nullptr; }" CROSSDOCK_HAS_LARGE_COUNTS)
check_cxx_source_compiles("#include <mpi.h>
  int main() { return &PMPIX_Async_start == nullptr; }" CROSSDOCK_HAS_ASYNC_START)
check_cxx_source_compiles("#include <mpi.h>
  int main() { return &PMPI_Request_get_status_all == nullptr || &PMPI_Request_get_status_any == nullptr ||
    &PMPI_Request_get_status_some == nullptr; }" CROSSDOCK_HAS_GET_STATUS_ALL)
check_cxx_source_compiles("#include <mpi.h>
  int main() { return &PMPIX_Request_is_complete == nullptr; }" CROSSDOCK_HAS_REQUEST_IS_COMPLETE)
check_cxx_source_compiles("#include <mpi.h>
  #include <mpi-ext.h>
  int main() { return MPIX_FT + (&MPIX_Comm_get_failed == nullptr); }" CROSSDOCK_HAS_LOST_RANKS)
# As Open MPI has them: the constants of Fortran are addresses, and its integers are those of C.
check_cxx_source_compiles("#include <mpi.h>
  extern \"C\" { extern MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_status_ignore_,
    mpi_fortran_statuses_ignore_, mpi_fortran_unweighted_, mpi_fortran_weights_empty_; }
  static_assert(sizeof(MPI_Fint) == sizeof(int));
  int main() { return mpi_fortran_bottom_ + mpi_fortran_in_place_ + mpi_fortran_status_ignore_ +
    mpi_fortran_statuses_ignore_ + mpi_fortran_unweighted_ + mpi_fortran_weights_empty_; }"
  CROSSDOCK_HAS_FORTRAN_CONSTANTS)
cmake_pop_check_state()
set(crossdock_mpi_features)
foreach(feature CROSSDOCK_HAS_NEIGHBOR_INIT CROSSDOCK_HAS_MPI_EXTENSIONS CROSSDOCK_HAS_LARGE_COUNTS
    CROSSDOCK_HAS_ASYNC_START CROSSDOCK_HAS_GET_STATUS_ALL CROSSDOCK_HAS_REQUEST_IS_COMPLETE CROSSDOCK_HAS_LOST_RANKS)
  if(${feature})
    list(APPEND crossdock_mpi_features ${feature})
  endif()
endforeach()
