/// @file
/// @brief Times as whole numbers, which add up to the same whatever the order.
#pragma once

#include <cmath>
#include <cstdint>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A time, or a stretch of it.
using picoseconds = std::int64_t;

inline constexpr double picoseconds_per_second = 1e12;

/// @brief The nearest whole number.
/// @pre `seconds` is within 9.2e6
inline picoseconds to_picoseconds(double seconds) {
    return static_cast<picoseconds>(std::llround(seconds * picoseconds_per_second));
}

inline double to_seconds(picoseconds time) {
    return static_cast<double>(time) / picoseconds_per_second;
}

}  // namespace crossdock
