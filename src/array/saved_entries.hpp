/// @file
/// @brief Entries as they were, for the case that a batch fails.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "crossdock/detail/base/raw_buffer.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Copies of some entries. Invariant: one for each offset, as it was when the object was
/// made.
class saved_entries {
  public:
    /// @param offsets  of entries; may name one repeatedly
    saved_entries(std::byte* entries, std::vector<count_t> offsets, std::size_t item_bytes)
        : entries_(entries),
          offsets_(std::move(offsets)),
          item_bytes_(item_bytes),
          copies_(offsets_.size() * item_bytes) {
        for (std::size_t k = 0; k < offsets_.size(); ++k)
            std::memcpy(copy(k), entry(k), item_bytes_);
    }

    void restore() const {
        for (std::size_t k = 0; k < offsets_.size(); ++k)
            std::memcpy(entry(k), copy(k), item_bytes_);
    }

  private:
    std::byte* entry(std::size_t k) const {
        return entries_ + static_cast<std::size_t>(offsets_[k]) * item_bytes_;
    }
    std::byte* copy(std::size_t k) const { return copies_.data() + k * item_bytes_; }

    std::byte* entries_;
    std::vector<count_t> offsets_;
    std::size_t item_bytes_;
    raw_buffer copies_;
};

}  // namespace crossdock
