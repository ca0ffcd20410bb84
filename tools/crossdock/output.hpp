/// @file
/// @brief What the user reads: results on standard output, faults on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace crossdock::tool {

/// @brief Formats to standard output; that it cannot be written is found by `flush_output`.
template <class... Values>
void print(fmt::format_string<Values...> text, Values&&... values) {
    const std::string formatted = fmt::format(text, std::forward<Values>(values)...);
    std::fwrite(formatted.data(), 1, formatted.size(), stdout);
}

/// @brief Hands over what was printed.
/// @throws error(errc::file_error)  it cannot be written, as on a full disk
void flush_output();

/// @brief One line on standard error.
void report(const std::string& fault);

}  // namespace crossdock::tool
