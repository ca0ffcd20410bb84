# What `cmake --install` puts where: find_package(crossdock) then gives crossdock::crossdock and, for
# programs without MPI, crossdock::core.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/crossdock)
set_target_properties(crossdock crossdock_core PROPERTIES INSTALL_RPATH $ORIGIN)
install(TARGETS crossdock crossdock_core EXPORT crossdock-targets)
install(EXPORT crossdock-targets NAMESPACE crossdock:: DESTINATION ${package_folder})
install(DIRECTORY include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_package_config_file(cmake/crossdock-config.cmake.in crossdock-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(crossdock-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/crossdock-config-version.cmake
  cmake/FindMETIS.cmake cmake/Findhwloc.cmake
  DESTINATION ${package_folder})

if(TARGET crossdock_tool)
  set(programs crossdock_tool crossdock_analyze crossdock_bench)
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS ${programs})
  install(DIRECTORY tools/plots DESTINATION ${CMAKE_INSTALL_DATADIR}/crossdock FILES_MATCHING PATTERN *.py PATTERN *.css)
endif()
