/// @file
/// @brief Files that come along with the programs.
#pragma once

#include <filesystem>
#include <string>

namespace crossdock::tool {

/// @brief Where a file lies that comes along: at a fixed place seen from the installed program, or
/// else in the sources, where it may be missing too.
/// @param folder         the place below `share/crossdock` of an installation
/// @param source_folder  the place in the sources
std::filesystem::path project_file(const std::string& folder, const std::string& source_folder,
                                   const std::string& name);

/// @brief The matrix that `demo` and `try` take where they are told no file.
std::filesystem::path demo_matrix();

}  // namespace crossdock::tool
