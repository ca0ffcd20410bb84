/// @file
/// @brief Numbers whose sums depend on the order of additions, and their bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::test {

using number_bits = std::vector<std::uint64_t>;

/// @brief A number of either sign and of one of many magnitudes.
inline double sensitive_value(rank_t rank, count_t place) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 100'003 +
                           static_cast<std::uint64_t>(place));
    const auto drawn = random();
    const double number = 1 + static_cast<double>(drawn >> 12) * 0x1p-52;
    return std::ldexp(drawn % 2 == 0 ? number : -number, static_cast<int>(drawn / 2 % 40));
}

/// @brief A rank's numbers for the places from `first` on.
inline std::vector<double> sensitive_values(rank_t rank, std::size_t num, count_t first = 0) {
    std::vector<double> result;
    for (std::size_t i = 0; i < num; ++i)
        result.push_back(sensitive_value(rank, first + static_cast<count_t>(i)));
    return result;
}

inline number_bits bits_of(std::span<const double> numbers) {
    number_bits result;
    for (const double number : numbers) result.push_back(std::bit_cast<std::uint64_t>(number));
    return result;
}

}  // namespace crossdock::test
