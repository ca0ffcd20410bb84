// Memory that shares no cache line with other memory, for what one thread writes all the time.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace crossdock {

// Lines are fetched in pairs.
inline constexpr std::size_t line_pair_bytes = 128;

template <class T>
struct line_allocator {
    using value_type = T;

    line_allocator() = default;
    template <class Other>
    line_allocator(const line_allocator<Other>&) noexcept {}

    T* allocate(std::size_t count) {
        const std::size_t bytes =
            (count * sizeof(T) + line_pair_bytes - 1) / line_pair_bytes * line_pair_bytes;
        return static_cast<T*>(::operator new (bytes, std::align_val_t{line_pair_bytes}));
    }
    void deallocate(T* memory, std::size_t) noexcept {
        ::operator delete (memory, std::align_val_t{line_pair_bytes});
    }

    friend bool operator==(const line_allocator&, const line_allocator&) { return true; }
};

template <class T>
using line_vector = std::vector<T, line_allocator<T>>;

}  // namespace crossdock
