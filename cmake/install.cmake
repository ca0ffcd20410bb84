# What `cmake --install` puts where: find_package(crossdock) then gives crossdock::crossdock, and for programs
# without MPI crossdock::core and crossdock::analysis; pkg-config knows them as crossdock, crossdock-core,
# crossdock-analysis, crossdock-gslib and crossdock-mpi-advance. With the component fortran, crossdock::fortran and
# crossdock-fortran are the Fortran module; with the component hypre, crossdock::hypre is the header for programs on hypre.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/crossdock)
set(libraries crossdock crossdock_analysis crossdock_core crossdock_gslib crossdock_mpi_advance)
if(TARGET crossdock_fortran)
  list(APPEND libraries crossdock_fortran)
  install(FILES $<TARGET_PROPERTY:crossdock_fortran,Fortran_MODULE_DIRECTORY>/crossdock.mod
    DESTINATION ${crossdock_module_folder} OPTIONAL)
endif()
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH $ORIGIN INSTALL_RPATH_USE_LINK_PATH ON)
if(TARGET crossdock_hypre)
  list(APPEND libraries crossdock_hypre)
  install(FILES satellites/hypre/include/crossdock/hypre.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/crossdock)
  install(FILES cmake/FindHYPRE.cmake DESTINATION ${package_folder})
endif()
# What a build leaves out, as that of the preset quickstart does, is left out here, and said: with its target, the
# files that would speak of it.
function(crossdock_leave_out_unbuilt target component)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
    message(STATUS \"Left out, as it was not built: ${target}; cmake --build . --target ${target} builds it\")
    foreach(path ${ARGN})
      cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
      file(GLOB files \"\$ENV{DESTDIR}\${path}\")
      file(REMOVE \${files})
    endforeach()
  endif()" COMPONENT ${component})
endfunction()

# An export for each, so that who asks for the core need not have MPI. The component `library` is what a program needs
# that pkg-config or CMake finds it for; the quickstart builds no more.
foreach(library ${libraries})
  get_target_property(name ${library} EXPORT_NAME)
  set(component Unspecified)
  if(name MATCHES "^(crossdock|core)$")
    set(component library)
  endif()
  install(TARGETS ${library} EXPORT crossdock-${name}-targets COMPONENT ${component} OPTIONAL)
  install(EXPORT crossdock-${name}-targets NAMESPACE crossdock:: DESTINATION ${package_folder} COMPONENT ${component})
endforeach()
install(DIRECTORY include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
foreach(satellite gslib mpi_advance simulator)
  install(DIRECTORY satellites/${satellite}/include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()

# crossdock_install_pkg_config(library description USES other... LINKS package... FLAGS flags)
# Other libraries of this project, and what a static library leaves to be linked, all as pkg-config knows them. FLAGS are
# more flags of the compiler.
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${kind}})
    set(pkg_config_${kind} ${CMAKE_INSTALL_${kind}})
  else()
    set(pkg_config_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pkg_config_prefix ${CMAKE_INSTALL_PREFIX})
else()
  # The folder may be moved.
  file(RELATIVE_PATH way_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pkg_config_prefix "\${pcfiledir}/${way_up}")
endif()
function(crossdock_install_pkg_config library description)
  cmake_parse_arguments(arg "" "FLAGS" "USES;LINKS" ${ARGN})
  string(REPLACE _ - name ${library})
  list(TRANSFORM arg_USES APPEND " = ${PROJECT_VERSION}")
  set(more_libraries)
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND arg_USES ${arg_LINKS})
    set(more_libraries "-pthread -lstdc++ -lm")
  endif()
  list(JOIN arg_USES ", " uses)
  configure_file(cmake/crossdock.pc.in ${name}.pc @ONLY)
  set(component Unspecified)
  if(library MATCHES "^crossdock(_core)?$")
    set(component library)
  endif()
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT ${component})
  get_target_property(export ${library} EXPORT_NAME)
  crossdock_leave_out_unbuilt(${library} ${component} ${CMAKE_INSTALL_LIBDIR}/pkgconfig/${name}.pc
    ${package_folder}/crossdock-${export}-targets*.cmake)
endfunction()
crossdock_install_pkg_config(crossdock_core "Routes and plans of irregular communication, without MPI" LINKS fmt)
crossdock_install_pkg_config(crossdock_analysis "Simulation of irregular communication"
  USES crossdock-core LINKS fmt)
crossdock_install_pkg_config(crossdock "${PROJECT_DESCRIPTION}; compile and link with mpicc or mpicxx"
  USES crossdock-core LINKS fmt hwloc absl_btree absl_flat_hash_map)
if(TARGET crossdock_fortran)
  crossdock_install_pkg_config(crossdock_fortran "crossdock for Fortran; compile and link with mpifort"
    USES crossdock FLAGS "-I\${includedir}/crossdock/fortran")
endif()

crossdock_install_pkg_config(crossdock_gslib "Gather-scatter under the names of gslib" USES crossdock)
crossdock_install_pkg_config(crossdock_mpi_advance "Neighborhood collectives under the names of MPI Advance"
  USES crossdock FLAGS "-I\${includedir}/crossdock/mpi_advance")

configure_package_config_file(cmake/crossdock-config.cmake.in crossdock-config.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(crossdock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config-version.cmake
  cmake/Findhwloc.cmake
  DESTINATION ${package_folder} COMPONENT library)

if(TARGET crossdock_mpi)
  set_target_properties(crossdock_mpi PROPERTIES INSTALL_RPATH $ORIGIN INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS crossdock_mpi OPTIONAL)
  crossdock_leave_out_unbuilt(crossdock_mpi Unspecified)
endif()

if(TARGET crossdock_petsc)
  set_target_properties(crossdock_petsc PROPERTIES INSTALL_RPATH $ORIGIN INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS crossdock_petsc OPTIONAL)
  crossdock_leave_out_unbuilt(crossdock_petsc Unspecified)
  install(FILES satellites/petsc/include/crossdock/petsc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/crossdock)
endif()

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
