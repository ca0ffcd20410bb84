# PETSc ships no CMake package; defines PETSc::PETSc. It counts as found only if it was built for the MPI that
# is configured: petscsys.h refuses every other one.
# Which of several PETScs it is, such as one for complex numbers, pkg-config says, and so PKG_CONFIG_PATH.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(pkg_config_petsc QUIET PETSc)
endif()
find_path(PETSC_INCLUDE_DIR petscsf.h HINTS ${pkg_config_petsc_INCLUDE_DIRS} PATH_SUFFIXES petsc)
find_library(PETSC_LIBRARY NAMES ${pkg_config_petsc_LIBRARIES} petsc HINTS ${pkg_config_petsc_LIBRARY_DIRS})
if(PETSC_INCLUDE_DIR AND PETSC_LIBRARY)
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  set(CMAKE_REQUIRED_INCLUDES ${PETSC_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${PETSC_LIBRARY} MPI::MPI_C)
  check_cxx_source_compiles(
    "#include <petscsf.h>\nint main() { PetscSF sf = nullptr; return PetscSFDestroy(&sf); }" PETSC_FITS_MPI)
  cmake_pop_check_state()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSc
  REQUIRED_VARS PETSC_LIBRARY PETSC_INCLUDE_DIR PETSC_FITS_MPI
  REASON_FAILURE_MESSAGE "the type of its star forest and the benchmarks' contenders petsc_sf need it")
if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  add_library(PETSc::PETSc UNKNOWN IMPORTED)
  set_target_properties(PETSc::PETSc PROPERTIES
    IMPORTED_LOCATION ${PETSC_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${PETSC_INCLUDE_DIR})
endif()
