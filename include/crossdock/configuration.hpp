/// @file
/// @brief What the library is that a program runs with: its version, how it was built, and its MPI.
#pragma once

#include <string>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What the linked library is, as one line of JSON of the schema `crossdock.configuration/1`.
///
/// - `version`, and `commit`: that of the sources when CMake was last run, with `-dirty` if they had changes; null if
///   unknown;
/// - `build`: the compiler, CMake's build type, whether the libraries are shared, and `with`, which optional parts are
///   there;
/// - `mpi`: the library that runs, and the version of MPI's standard in the header that this library was built with.
///
/// May be called before MPI_Init and after MPI_Finalize.
std::string configuration();

}  // namespace crossdock
