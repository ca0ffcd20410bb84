// The files of the folder `machines`, as text in the library.
#pragma once

#include <span>

namespace crossdock {

/// @brief One text for each file, by file name; the build writes the definition.
std::span<const char* const> preset_texts();

}  // namespace crossdock
