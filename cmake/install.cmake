# What `cmake --install` puts where: find_package(crossdock) then gives crossdock::crossdock, and for programs
# without MPI crossdock::core and crossdock::analysis; pkg-config knows them as crossdock, crossdock-core and
# crossdock-analysis.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/crossdock)
set(libraries crossdock crossdock_analysis crossdock_core)
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH $ORIGIN)
install(TARGETS ${libraries} EXPORT crossdock-targets)
install(EXPORT crossdock-targets NAMESPACE crossdock:: DESTINATION ${package_folder})
install(DIRECTORY include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# crossdock_install_pkg_config(library description USES other... LINKS package...)
# Other libraries of this project, and what a static library leaves to be linked, all as pkg-config knows them.
file(RELATIVE_PATH prefix_of_pkg_config /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(crossdock_install_pkg_config library description)
  cmake_parse_arguments(arg "" "" "USES;LINKS" ${ARGN})
  string(REPLACE _ - name ${library})
  list(JOIN arg_USES ", " uses)
  set(links)
  set(libs_private)
  if(NOT BUILD_SHARED_LIBS)
    list(JOIN arg_LINKS ", " links)
    set(libs_private "-pthread -lstdc++")
  endif()
  configure_file(cmake/crossdock.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
crossdock_install_pkg_config(crossdock_core "Routes and plans of irregular communication, without MPI" LINKS fmt)
crossdock_install_pkg_config(crossdock_analysis "Simulation of irregular communication"
  USES crossdock-core LINKS fmt)
crossdock_install_pkg_config(crossdock "${PROJECT_DESCRIPTION}; compile and link with mpicc or mpicxx"
  USES crossdock-core LINKS fmt hwloc absl_btree absl_flat_hash_map)

configure_package_config_file(cmake/crossdock-config.cmake.in crossdock-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(crossdock-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config-version.cmake
  cmake/Findhwloc.cmake
  DESTINATION ${package_folder})

if(TARGET crossdock_tool)
  install(TARGETS crossdock_tool crossdock_analyze crossdock_bench)
  install(DIRECTORY tools/plots DESTINATION ${CMAKE_INSTALL_DATADIR}/crossdock
    FILES_MATCHING PATTERN *.py PATTERN *.css PATTERN gain.py EXCLUDE)
endif()
