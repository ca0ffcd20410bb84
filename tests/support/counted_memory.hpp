/// @file
/// @brief Replaces the global allocation functions by ones that count bytes and can refuse them.
///
/// To be included by one source of a program only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace crossdock::test {

inline std::atomic<std::size_t> used_bytes = 0;

/// @brief The most that `used_bytes` has been.
inline std::atomic<std::size_t> peak_used_bytes = 0;

/// @brief A larger block is refused.
inline std::size_t most_block_bytes = std::numeric_limits<std::size_t>::max();

// In front of every block, for its size: as much as keeps the alignment.
inline std::size_t head_bytes(std::align_val_t alignment) noexcept {
    return std::max(static_cast<std::size_t>(alignment), alignof(std::max_align_t));
}
inline constexpr std::align_val_t usual_alignment{alignof(std::max_align_t)};

inline void count(std::size_t size) noexcept {
    const std::size_t used = used_bytes.fetch_add(size, std::memory_order_relaxed) + size;
    std::size_t peak = peak_used_bytes.load(std::memory_order_relaxed);
    while (peak < used && !peak_used_bytes.compare_exchange_weak(peak, used)) {
    }
}

inline void* allocate(std::size_t size, std::align_val_t alignment = usual_alignment) noexcept {
    if (size > most_block_bytes) return nullptr;
    const std::size_t head = head_bytes(alignment);
    void* const block = std::aligned_alloc(head, (head + size + head - 1) / head * head);
    if (block == nullptr) return nullptr;
    count(size);
    *static_cast<std::size_t*>(block) = size;
    return static_cast<std::byte*>(block) + head;
}

inline void* allocate_or_throw(std::size_t size, std::align_val_t alignment = usual_alignment) {
    if (void* const memory = allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}

inline void release(void* memory, std::align_val_t alignment = usual_alignment) noexcept {
    if (memory == nullptr) return;
    void* const block = static_cast<std::byte*>(memory) - head_bytes(alignment);
    used_bytes.fetch_sub(*static_cast<std::size_t*>(block), std::memory_order_relaxed);
    std::free(block);
}

}  // namespace crossdock::test

void* operator new(std::size_t size) { return crossdock::test::allocate_or_throw(size); }
void* operator new[](std::size_t size) { return crossdock::test::allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return crossdock::test::allocate_or_throw(size, alignment);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return crossdock::test::allocate(size);
}
void operator delete(void* memory) noexcept { crossdock::test::release(memory); }
void operator delete[](void* memory) noexcept { crossdock::test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { crossdock::test::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { crossdock::test::release(memory); }
void operator delete(void* memory, std::align_val_t alignment) noexcept {
    crossdock::test::release(memory, alignment);
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
    crossdock::test::release(memory, alignment);
}
