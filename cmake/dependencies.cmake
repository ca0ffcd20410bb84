# What the library is built from, besides MPI. What is not installed is fetched, if CROSSDOCK_FETCH says so, and becomes a
# part of the shared libraries, so that programs need none of it.
option(CROSSDOCK_FETCH "Fetch libfmt, Abseil and nlohmann_json where they are not installed" OFF)

find_package(Threads REQUIRED)
find_package(hwloc REQUIRED)
if(NOT CROSSDOCK_FETCH)
  find_package(nlohmann_json 3.11 REQUIRED)
  find_package(fmt REQUIRED)
  find_package(absl REQUIRED)
  return()
endif()
if(CROSSDOCK_INSTALL AND NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "CROSSDOCK_FETCH needs BUILD_SHARED_LIBS: installed static libraries would lack what was fetched")
endif()

include(FetchContent)
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0 GIT_SHALLOW TRUE SYSTEM
  FIND_PACKAGE_ARGS)
FetchContent_Declare(absl GIT_REPOSITORY https://github.com/abseil/abseil-cpp.git GIT_TAG 20220623.1 GIT_SHALLOW TRUE SYSTEM
  FIND_PACKAGE_ARGS)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.2 GIT_SHALLOW TRUE SYSTEM
  FIND_PACKAGE_ARGS 3.11)
# In a function, so that they are built static, with the C++ of this project, and without what is said of it.
function(crossdock_fetch)
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(ABSL_PROPAGATE_CXX_STD ON)
  set(FMT_INSTALL OFF)
  set(JSON_Install OFF)
  FetchContent_MakeAvailable(fmt absl nlohmann_json)
  # Abseil has a hundred libraries, of which a few are wanted.
  if(absl_SOURCE_DIR)
    set_property(DIRECTORY ${absl_SOURCE_DIR} PROPERTY EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()
crossdock_fetch()
