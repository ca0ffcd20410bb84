/// @file
/// @brief Errors whose sentence {fmt} writes.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "crossdock/types.hpp"

namespace crossdock {

template <class... Values>
[[noreturn]] void throw_error(errc code, fmt::format_string<Values...> text, Values&&... values) {
    throw error(code, fmt::format(text, std::forward<Values>(values)...));
}

/// @brief As above, an error of one rank.
template <class... Values>
[[noreturn]] void throw_error_of(rank_t rank, errc code, fmt::format_string<Values...> text,
                                 Values&&... values) {
    throw error(code, fmt::format(text, std::forward<Values>(values)...), rank);
}

}  // namespace crossdock
