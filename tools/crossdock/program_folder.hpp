/// @file
/// @brief Where this program lies, which tells where what comes along with it lies.
#pragma once

#include <filesystem>

namespace crossdock::tool {

/// @brief The folder of the program that runs, whatever path it was started by.
std::filesystem::path program_folder();

}  // namespace crossdock::tool
