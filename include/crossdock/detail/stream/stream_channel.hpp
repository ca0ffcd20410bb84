/// @file
/// @brief What the untyped part of a stream asks of the typed one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

class stream_worker;

/// @brief Items that came for one worker in one buffer.
struct stream_arrivals {
    int channel;
    const std::byte* items;  ///< one after the other; records for items of any size
    count_t num_items;
    std::size_t num_bytes;
    std::uint32_t source;          ///< global number of the worker that pushed all of them, or
    const std::uint32_t* sources;  ///< of each; null if all are from `source` or nobody asked
};

/// @brief In front of each item of any size; the next begins at a multiple of 8 bytes.
struct stream_record {
    std::uint32_t num_bytes;
    std::uint32_t tag;
    std::uint32_t source;
    std::uint32_t unused;

    static constexpr std::size_t room(std::size_t item_bytes) noexcept {
        return sizeof(stream_record) + (item_bytes + 7) / 8 * 8;
    }
};

/// @brief Handles, and combines, the items of a stream's channels.
class stream_sink {
  public:
    virtual ~stream_sink() = default;

    /// @brief Runs the user's handler. May push to `worker`.
    virtual void handle(stream_worker& worker, const stream_arrivals& arrivals) = 0;

    /// @brief The key of an item that combines with others of its key. Only asked if
    /// `stream_channel::combines`.
    virtual std::uint64_t key(const std::byte* item) const = 0;
    virtual void combine(std::byte* into, const std::byte* item) const = 0;
};

/// @brief One kind of items; priorities, and requests and their replies, are channels of one
/// stream.
struct stream_channel {
    std::size_t item_bytes;  ///< 0: records
    count_t capacity;        ///< items of a full buffer, or bytes of records
    bool is_urgent = false;  ///< leaves at every `progress()` and is handled first
    bool combines = false;
};

}  // namespace crossdock
