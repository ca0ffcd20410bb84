# The library is linked from parts. A part is a static library of its own, with which this project's programs are
# linked: they look behind the public headers, where a shared library exports nothing. `crossdock_core`, the part that
# needs no MPI, is installed as it is.

# crossdock_add_part(target MODULES m... [WITH_MPI] [SOURCES file...] [USES part...] [LINKS library...])
# Sources are found by place: a new file in src/m needs no line here, nor one in src/m/study, which has what only a
# study compares with. The part that is built WITH_MPI also has the files *_mpi.cpp of every module; the others have
# none.
function(crossdock_add_part target)
  cmake_parse_arguments(arg "WITH_MPI" "" "MODULES;SOURCES;USES;LINKS" ${ARGN})
  set(sources ${arg_SOURCES})
  foreach(module ${arg_MODULES})
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.cpp
      ${PROJECT_SOURCE_DIR}/src/${module}/study/*.cpp)
    list(FILTER files EXCLUDE REGEX "_mpi\\.cpp$")
    list(APPEND sources ${files})
  endforeach()
  if(arg_WITH_MPI)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*_mpi.cpp ${PROJECT_SOURCE_DIR}/src/*/study/*_mpi.cpp)
    list(APPEND sources ${files})
  endif()
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  crossdock_set_usage(${target} ${arg_WITH_MPI})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:crossdock_warnings> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ${arg_LINKS} PUBLIC ${arg_USES})
  # For the library that is linked from it.
  set(${target}_links ${arg_LINKS} PARENT_SCOPE)
endfunction()

# crossdock_add_library(target EXPORT_NAME name PARTS part...): crossdock::name, which is installed, shared or static as
# BUILD_SHARED_LIBS says.
function(crossdock_add_library target)
  cmake_parse_arguments(arg "" "EXPORT_NAME" "PARTS" ${ARGN})
  add_library(${target})
  add_library(crossdock::${arg_EXPORT_NAME} ALIAS ${target})
  foreach(part ${arg_PARTS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
    target_link_libraries(${target} PRIVATE ${${part}_links})
  endforeach()
  crossdock_set_usage(${target} TRUE)
  if(BUILD_SHARED_LIBS AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_EXPORT_NAME} LINKER_LANGUAGE CXX
    VERSION ${crossdock_VERSION} SOVERSION ${crossdock_binary_interface})
endfunction()

# What whoever includes the headers compiles with.
function(crossdock_set_usage target has_mpi)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(has_mpi)
    # The project that finds the installed library has MPI for its own languages.
    target_link_libraries(${target} PUBLIC
      $<BUILD_INTERFACE:MPI::MPI_C> $<INSTALL_INTERFACE:crossdock::mpi_of_languages>)
    # The C++ bindings that old MPIs add to mpi.h are not used and warn.
    target_compile_definitions(${target} PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endif()
endfunction()
