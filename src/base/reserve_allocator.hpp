/// @file
/// @brief Memory for containers that cannot do without.
#pragma once

#include <memory>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

/// @brief Allocates as `std::allocator`, from the reserve at last: for containers that are unusable once they had no
/// memory, as those of Abseil are.
template <class T>
struct reserve_allocator : std::allocator<T> {
    reserve_allocator() = default;
    template <class U>
    struct rebind {
        using other = reserve_allocator<U>;
    };
    template <class U>
    reserve_allocator(const reserve_allocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        return with_reserve([&] { return std::allocator<T>::allocate(count); });
    }
};

}  // namespace crossdock
