/// @file
/// @brief Where the library for programs that are not changed lies.
#pragma once

#include <filesystem>

namespace crossdock::tool {

/// @brief libcrossdock_mpi.so, where it was installed or where it was built; empty if it is not there.
std::filesystem::path find_drop_in_library();

/// @brief What to say if it is not there.
inline constexpr const char* no_drop_in_library =
    "libcrossdock_mpi.so is not installed: it is built where Boost.Context is found";

}  // namespace crossdock::tool
