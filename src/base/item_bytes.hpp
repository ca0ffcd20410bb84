/// @file
/// @brief Item sizes as compile-time constants, for loops that copy items.
#pragma once

#include <cstddef>
#include <type_traits>

namespace crossdock {

/// @brief Calls `use` with the size: as a constant for the usual ones, so that copying an item is
/// one load and one store.
template <class Use>
void with_item_bytes(std::size_t item_bytes, Use&& use) {
    switch (item_bytes) {
        case 1: return use(std::integral_constant<std::size_t, 1>());
        case 2: return use(std::integral_constant<std::size_t, 2>());
        case 4: return use(std::integral_constant<std::size_t, 4>());
        case 8: return use(std::integral_constant<std::size_t, 8>());
        case 16: return use(std::integral_constant<std::size_t, 16>());
        default: return use(item_bytes);
    }
}

}  // namespace crossdock
