/// @file
/// @brief Replaces the global allocation functions by ones that count bytes and can refuse them.
///
/// To be included by one source of a program only.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace crossdock::test {

inline std::size_t used_bytes = 0;

/// @brief A larger block is refused.
inline std::size_t most_block_bytes = std::numeric_limits<std::size_t>::max();

// In front of every block, for its size.
inline constexpr std::size_t head_bytes = alignof(std::max_align_t);

inline void* allocate(std::size_t size) noexcept {
    if (size > most_block_bytes) return nullptr;
    void* const block = std::malloc(head_bytes + size);
    if (block == nullptr) return nullptr;
    used_bytes += size;
    *static_cast<std::size_t*>(block) = size;
    return static_cast<std::byte*>(block) + head_bytes;
}

inline void* allocate_or_throw(std::size_t size) {
    if (void* const memory = allocate(size)) return memory;
    throw std::bad_alloc();
}

inline void release(void* memory) noexcept {
    if (memory == nullptr) return;
    void* const block = static_cast<std::byte*>(memory) - head_bytes;
    used_bytes -= *static_cast<std::size_t*>(block);
    std::free(block);
}

}  // namespace crossdock::test

void* operator new(std::size_t size) { return crossdock::test::allocate_or_throw(size); }
void* operator new[](std::size_t size) { return crossdock::test::allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return crossdock::test::allocate(size);
}
void operator delete(void* memory) noexcept { crossdock::test::release(memory); }
void operator delete[](void* memory) noexcept { crossdock::test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { crossdock::test::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { crossdock::test::release(memory); }
