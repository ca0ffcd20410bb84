/// @file
/// @brief How much memory a verb may take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace crossdock::tool {

/// @brief What the process may still take: what Linux calls available, or less where its control
/// group has a limit; none where nothing says so.
std::optional<std::size_t> available_memory_bytes();

/// @brief Refuses work that needs more.
/// @param what        "route three_step", begins the sentence
/// @param limit_bytes by hand; 0: `available_memory_bytes`
/// @throws error(errc::out_of_memory)  it does not fit
void check_memory(const std::string& what, std::size_t needed_bytes, std::size_t limit_bytes);

}  // namespace crossdock::tool
