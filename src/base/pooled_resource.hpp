/// @file
/// @brief Memory that is given back and taken again, without the system having a hand in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

namespace crossdock {

/// @brief Keeps what is given back, for the next who wants as much.
///
/// Large blocks that come anew from the system cost a page fault for every page, which is more than
/// what is done with them. Sizes are rounded up by at most a quarter. Small blocks are not kept.
/// @par Complexity
/// Holds at most what was in use at one time, but for blocks of sizes that are not wanted any more.
/// @par Thread safety
/// One thread at a time.
class pooled_resource final : public std::pmr::memory_resource {
  public:
    pooled_resource() = default;
    ~pooled_resource() override;
    pooled_resource(const pooled_resource&) = delete;
    pooled_resource& operator=(const pooled_resource&) = delete;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    static constexpr std::size_t num_sizes = std::size_t{4} * 64;
    std::array<std::vector<void*>, num_sizes> free_;
};

/// @brief Leaves new elements without a value, where they will be written anyway.
template <class T>
class uninitialized_allocator : public std::pmr::polymorphic_allocator<T> {
  public:
    using std::pmr::polymorphic_allocator<T>::polymorphic_allocator;
    template <class U>
    uninitialized_allocator(const uninitialized_allocator<U>& other) noexcept
        : std::pmr::polymorphic_allocator<T>(other.resource()) {}

    template <class U, class... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0) {
            ::new (static_cast<void*>(place)) U;
        } else {
            ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
        }
    }

    uninitialized_allocator select_on_container_copy_construction() const { return {}; }
};

/// @brief A vector in kept or other memory; `resize` leaves new numbers without a value.
template <class T>
using raw_vector = std::vector<T, uninitialized_allocator<T>>;

}  // namespace crossdock
