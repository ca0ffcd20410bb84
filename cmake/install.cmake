# What `cmake --install` puts where: find_package(crossdock) then gives crossdock::crossdock, and for programs
# without MPI crossdock::core and crossdock::analysis; pkg-config knows them as crossdock, crossdock-core,
# crossdock-analysis, crossdock-device, crossdock-gslib and crossdock-mpi-advance. With the components fortran and
# fortran_device, crossdock::fortran and crossdock-fortran, and those with `device` behind, are the Fortran modules;
# with the component hypre, crossdock::hypre is the header for programs on hypre.
include(CMakePackageConfigHelpers)

set(flags "-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX")
install(DIRECTORY include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
# The component `library` is what a program needs that pkg-config or CMake finds it for; the quickstart builds no more.
crossdock_install_library(crossdock_core DESCRIPTION "Routes and plans of irregular communication, without MPI"
  LINKS fmt FLAGS "${flags}" COMPONENT library)
crossdock_install_library(crossdock DESCRIPTION "${PROJECT_DESCRIPTION}; compile and link with mpicc or mpicxx"
  LINKS fmt hwloc absl_btree absl_flat_hash_map FLAGS "${flags}" COMPONENT library)

configure_package_config_file(cmake/crossdock-config.cmake.in crossdock-config.cmake
  INSTALL_DESTINATION ${crossdock_package_folder})
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(crossdock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config-version.cmake
  cmake/FindHYPRE.cmake cmake/FindPETSc.cmake cmake/Findhwloc.cmake cmake/crossdock.pc.in cmake/mpi_features.cmake
  cmake/satellite.cmake DESTINATION ${crossdock_package_folder} COMPONENT library)

if(TARGET _crossdock)
  crossdock_leave_out_unbuilt(_crossdock python)
endif()

if(TARGET crossdock_tool)
  set(programs crossdock_tool crossdock_analyze crossdock_bench)
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${programs} OPTIONAL)
  foreach(program ${programs})
    crossdock_leave_out_unbuilt(${program} Unspecified)
  endforeach()
  install(DIRECTORY tools/plots DESTINATION ${CMAKE_INSTALL_DATADIR}/crossdock
    FILES_MATCHING PATTERN *.py PATTERN *.css PATTERN __pycache__ EXCLUDE PATTERN gain.py EXCLUDE)
  install(PROGRAMS tools/jobs/try.pbs tools/jobs/try.slurm
    DESTINATION ${CMAKE_INSTALL_DATADIR}/crossdock/jobs)
  # What `crossdock demo` and `try` take when they are told no file.
  install(FILES data/msc01050.mtx.gz data/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/crossdock/data)
endif()

# The examples that need nothing but the library, as a project of their own.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/halo.c examples/halo.cpp examples/halo.f90 examples/spmv.c examples/spmv.cpp
  examples/sparse_exchange.c examples/sparse_exchange.cpp examples/array_histogram.c examples/stream_histogram.c
  examples/histogram.f90
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES examples/installed/CMakeLists.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples/python DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  FILES_MATCHING PATTERN *.py PATTERN *.ipynb PATTERN __pycache__ EXCLUDE)
