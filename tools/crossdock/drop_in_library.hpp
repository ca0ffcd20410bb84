/// @file
/// @brief Where the libraries for programs that are not changed lie.
#pragma once

#include <filesystem>
#include <string>

namespace crossdock::tool {

/// @brief A library, where it was installed or where it was built; empty if it is not there.
/// @param of  mpi or hypre
std::filesystem::path find_drop_in_library(const std::string& of = "mpi");

/// @brief What to say if it is not there.
inline constexpr const char* no_drop_in_library =
    "libcrossdock_mpi.so is not installed: it is built where Boost.Context is found";

}  // namespace crossdock::tool
