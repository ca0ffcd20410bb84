/// @file
/// @brief What an option's number may be.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

namespace crossdock::tool {

/// @brief A check of `first <= number <= last`. CLI11's own has other texts in each version.
template <class Number>
CLI::Validator in_range(Number first, Number last) {
    return {[=](std::string& text) {
                Number number{};
                const bool is_number = CLI::detail::lexical_cast(text, number);
                if (is_number && first <= number && number <= last) return std::string();
                return fmt::format("{} is not {} in [{}, {}]", text,
                                   std::is_integral_v<Number> ? "an integer" : "a number", first,
                                   last);
            },
            ""};
}

}  // namespace crossdock::tool
