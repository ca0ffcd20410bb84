/// @file
/// @brief Checks of many indices at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Has its highest bit set exactly if `index` is outside [0, limit).
///
/// The bits of many indices can be put together with `|`, without a branch for each.
inline std::uint64_t bits_if_outside(count_t index, count_t limit) noexcept {
    const auto bits = static_cast<std::uint64_t>(index);
    return bits | (static_cast<std::uint64_t>(limit) - 1 - bits);
}

/// @brief Whether that bit is set.
inline bool is_any_outside(std::uint64_t bits) noexcept { return (bits >> 63U) != 0; }

/// @brief Whether an index is outside [0, limit).
/// @pre limit >= 0
inline bool is_any_outside(std::span<const count_t> indices, count_t limit) noexcept {
    std::uint64_t bits = 0;
    for (const count_t index : indices) bits |= bits_if_outside(index, limit);
    return is_any_outside(bits);
}

/// @brief Whether each index is greater than the one before it.
/// @pre none is negative
inline bool ascends(std::span<const count_t> indices) noexcept {
    count_t bits = 0;
    for (std::size_t i = 1; i < indices.size(); ++i) bits |= indices[i] - indices[i - 1] - 1;
    return bits >= 0;
}

}  // namespace crossdock
