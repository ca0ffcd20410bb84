/// @file
/// @brief Consecutive positions among the requests that a rank holds.
#pragma once

#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>

namespace crossdock {

/// @brief The positions `first`, …, `first` + `length` - 1.
struct position_range {
    std::size_t first = 0;
    std::size_t length = 0;

    friend bool operator==(const position_range&, const position_range&) = default;
};

inline std::size_t total_length(std::span<const position_range> ranges) {
    return std::accumulate(ranges.begin(), ranges.end(), std::size_t{0},
                           [](std::size_t sum, const auto& one) { return sum + one.length; });
}

/// @brief Copies the items at the positions, one after the other.
inline void gather_ranges(std::span<const position_range> ranges, const void* items,
                          std::size_t item_bytes, std::byte* to) {
    for (const auto& [first, length] : ranges) {
        const std::size_t bytes = length * item_bytes;
        if (bytes > 0)
            std::memcpy(to, static_cast<const std::byte*>(items) + first * item_bytes, bytes);
        to += bytes;
    }
}

/// @brief Copies items that lie one after the other to the positions.
inline void scatter_ranges(std::span<const position_range> ranges, const std::byte* from,
                           std::size_t item_bytes, std::byte* items) {
    for (const auto& [first, length] : ranges) {
        const std::size_t bytes = length * item_bytes;
        if (bytes > 0) std::memcpy(items + first * item_bytes, from, bytes);
        from += bytes;
    }
}

}  // namespace crossdock
