# Debian's hypre ships no CMake package; defines HYPRE::HYPRE, as the package of hypre's own build does. It counts as found
# only if it uses the MPI that is configured, which a shared library tells.
# Of several hypres, such as one with 64-bit integers, HYPRE_INCLUDE_DIR and HYPRE_LIBRARY name one.
find_path(HYPRE_INCLUDE_DIR _hypre_parcsr_mv.h PATH_SUFFIXES hypre)
find_library(HYPRE_LIBRARY HYPRE)
set(HYPRE_FITS_MPI TRUE)
if(HYPRE_LIBRARY MATCHES "\\.so" AND (MPI_C_LIBRARIES OR MPI_CXX_LIBRARIES))
  execute_process(COMMAND ldd ${HYPRE_LIBRARY} OUTPUT_VARIABLE hypre_needs ERROR_QUIET)
  string(REGEX MATCHALL "/[^ \n]*/libmpi[^ \n]*" hypre_needs "${hypre_needs}")
  set(hypre_mpis)
  foreach(library ${hypre_needs})
    file(REAL_PATH ${library} library)
    list(APPEND hypre_mpis ${library})
  endforeach()
  set(HYPRE_FITS_MPI FALSE)
  foreach(library ${MPI_C_LIBRARIES} ${MPI_CXX_LIBRARIES})
    file(REAL_PATH ${library} library)
    if(library IN_LIST hypre_mpis)
      set(HYPRE_FITS_MPI TRUE)
    endif()
  endforeach()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HYPRE
  REQUIRED_VARS HYPRE_LIBRARY HYPRE_INCLUDE_DIR HYPRE_FITS_MPI
  REASON_FAILURE_MESSAGE "crossdock::hypre and the verb bench hypre need it")
if(HYPRE_FOUND AND NOT TARGET HYPRE::HYPRE)
  add_library(HYPRE::HYPRE UNKNOWN IMPORTED)
  set_target_properties(HYPRE::HYPRE PROPERTIES
    IMPORTED_LOCATION ${HYPRE_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HYPRE_INCLUDE_DIR})
endif()
