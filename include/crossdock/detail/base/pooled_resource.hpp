/// @file
/// @brief Memory that is given back and taken again, without the system having a hand in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

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

    static constexpr std::size_t num_sizes = 4 * 64;
    std::array<std::vector<void*>, num_sizes> free_;
};

/// @brief Bytes of any contents, aligned as a std::max_align_t.
class raw_buffer {
  public:
    raw_buffer() = default;
    /// @param memory  must outlive the buffer
    explicit raw_buffer(std::size_t bytes,
                        std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : memory_(memory),
          bytes_(bytes),
          data_(bytes == 0 ? nullptr : static_cast<std::byte*>(memory->allocate(bytes))) {}
    ~raw_buffer() {
        if (data_) memory_->deallocate(data_, bytes_);
    }
    raw_buffer(raw_buffer&& other) noexcept { swap(other); }
    raw_buffer& operator=(raw_buffer&& other) noexcept {
        raw_buffer(std::move(other)).swap(*this);
        return *this;
    }

    /// @brief Null if there are no bytes.
    std::byte* data() const noexcept { return data_; }
    std::size_t size_bytes() const noexcept { return bytes_; }

  private:
    void swap(raw_buffer& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        std::swap(data_, other.data_);
    }

    std::pmr::memory_resource* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::byte* data_ = nullptr;
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
