// Where a push finds its buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "crossdock/detail/stream/stream_worker.hpp"
#include "line_allocator.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

// The cursors of all buffers of a worker, by channel and number, and the first one for each rank. A
// second table has only cursors of closed buffers: while pushes use that one, each of them ends in
// `stream_worker::after_push`, which refuses it.
//
// Invariant: the cursor of a closed buffer has room for one item (none, if items differ in size),
// in memory that all closed buffers share. So the first push to a buffer writes as any other, finds
// the cursor at its end, and begins the buffer then.
class cursor_table {
  public:
    // Sets all of `push` but for its count, and keeps it. `own_number`: the worker's, global.
    cursor_table(push_state& push, const stream_layout& layout, const chunk_layout& shape,
                 std::uint32_t own_number);
    cursor_table(const cursor_table&) = delete;
    cursor_table& operator=(const cursor_table&) = delete;

    std::size_t size() const noexcept { return cursors_.size(); }
    stream_cursor& operator[](std::size_t index) noexcept { return cursors_[index]; }
    std::size_t index_of(const stream_cursor& open) const noexcept {
        return static_cast<std::size_t>(&open - cursors_.data());
    }
    // The first buffer for a worker in a channel.
    std::size_t index_for(int channel, worker_id to) const noexcept;
    int channel_of(std::size_t index) const noexcept {
        return static_cast<int>(index / push_.num_buffers);
    }

    // What a closed buffer's cursor is, and what the last push through one has written.
    const stream_cursor& closed(int channel) const noexcept {
        return closed_[static_cast<std::size_t>(channel)];
    }
    const std::byte* written_item() const noexcept { return scratch_.data(); }
    std::uint32_t written_tag() const noexcept {
        std::uint32_t tag = 0;
        std::memcpy(&tag, closed_.front().tags, sizeof tag);
        return tag;
    }

    void set_refusing(bool is_refusing) noexcept;
    bool is_refusing() const noexcept { return push_.is_refusing; }
    // After a push that is refused.
    void reset_refused(stream_cursor& open) noexcept;

    // Where items combine: those of a buffer that may, from now on. `items` is null if none may.
    void set_waiting(std::size_t index, std::byte* items, std::byte* tags) noexcept {
        if (waiting_.empty()) return;
        waiting_[index].items = items;
        waiting_[index].tags = tags;
    }
    const waiting_items& waiting(std::size_t index) const noexcept { return waiting_[index]; }

  private:
    void make_closed(const chunk_layout& shape);
    void make_waiting(const chunk_layout& shape);

    push_state& push_;
    line_vector<stream_cursor> cursors_;
    line_vector<stream_cursor> refused_;         // all closed
    std::vector<stream_cursor*> first_cursors_;  // per rank, in channel 0
    std::vector<stream_cursor*> first_refused_;
    std::vector<stream_cursor> closed_;  // per channel
    line_vector<std::byte> scratch_;     // an item and its tag
    std::uint32_t scratch_source_ = 0;
    std::vector<waiting_items> waiting_;    // per cursor, where items combine
    std::vector<std::uint16_t> positions_;  // of all of them
};

}  // namespace crossdock
