/// @file
/// @brief The two integer types of every interface, and the only way to narrow one.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/error.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A rank of a communicator, from 0; MPI's own type for it.
using rank_t = int;

/// @brief A region of a topology, from 0.
using region_t = int;

/// @brief A number of items, or a position among items; never bytes.
using count_t = std::int64_t;

/// @brief Converts an integer to a narrower one, or throws; a bare cast would wrap silently.
/// @param value  the number to convert
/// @throws error(errc::count_overflow)  `To` cannot represent `value`
template <class To, class From>
constexpr To checked_cast(From value) {
    static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
    if (!std::in_range<To>(value)) {
        throw error(errc::count_overflow, std::to_string(value) + " does not fit into " +
                                              std::to_string(8 * sizeof(To)) + " bits");
    }
    return static_cast<To>(value);
}

}  // namespace crossdock
