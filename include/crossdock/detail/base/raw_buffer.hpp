/// @file
/// @brief Bytes that nobody has to construct.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

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

}  // namespace crossdock
