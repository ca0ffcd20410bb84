// The buffers that a worker fills, and how they leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "age_queue.hpp"
#include "chunk_pool.hpp"
#include "chunk_sender.hpp"
#include "cursor_table.hpp"
#include "latency_sampler.hpp"
#include "shared_filler.hpp"
#include "source_buffer.hpp"
#include "worker_state.hpp"

namespace crossdock {

// All buffers of one worker, numbered one channel after the other. Begins them when something is
// put into them, and sends them when they are full, old, urgent or asked to leave.
//
// Invariant: every buffer that is not closed is in the queue of those that have begun or, if its
// channel is urgent, in the list of those that leave at the next `progress()`.
class filling_buffers {
  public:
    // Both are kept. Sets the worker's `push_state`.
    filling_buffers(worker_state& state, stream_worker& worker);

    cursor_table& cursors() noexcept { return cursors_; }
    source_buffer& operator[](std::size_t index) noexcept { return buffers_[index].buffer; }

    // Begins a buffer that is closed; never waits.
    void begin(std::size_t index);
    // The same, with the item that a push has written while the buffer was closed.
    void begin_with_written(std::size_t index);
    // The rest of a push, when the cursor is at its end. True if the buffer has left.
    bool finish_push(std::size_t index);
    // True if another buffer has begun, or this one has left.
    bool push_record(std::size_t index, std::uint32_t tag, std::span<const std::byte> item);
    // Pushes again what came here on its way, on routes of several hops: `stage` is the one that it
    // has behind it, and `endpoint` where it ends. An item combines with one of its key that waits
    // for the same worker, if there is one.
    //
    // Invariant: an item was counted as sent where it was pushed, and is not counted again. If it
    // combines it counts as handled here; so items that have been sent and not handled are
    // somewhere on their way.
    void forward(int channel, int stage, int endpoint, const forwarded_item& item);

    void leave(std::size_t index, flush_cause cause);
    // Likewise, and the shared buffer that it went into.
    void leave_with_shared(std::size_t index, flush_cause cause);
    void leave_all(flush_cause cause);
    void leave_urgent();
    // What is older than `limit`.
    void leave_old(std::int64_t limit);
    // The oldest one in a chunk of this worker.
    void leave_oldest();

    void send_waiting() { sender_.send_waiting(); }
    bool has_waiting() const noexcept { return pool_.has_waiting(); }
    bool find_free() { return sender_.find_free(); }
    void free_overflow() noexcept { pool_.free_overflow(); }
    // All chunks of this worker are being filled, and none is on its way back.
    bool has_all_open();

    bool is_empty() const noexcept;
    // Items pushed here that have not left; and those that became part of another at once.
    std::int64_t num_unsent() const noexcept;
    std::int64_t num_combined() const noexcept { return worker_.push_.num_combined; }

  private:
    struct slot {
        source_buffer buffer;
        std::uint32_t serial = 0;  // how many buffers had begun
        std::int64_t since = 0;    // it has begun
        bool is_listed = false;    // in `urgent_`
    };
    // A buffer that has begun; stale once it has left.
    struct entry {
        std::size_t index;
        std::uint32_t serial;
        std::int64_t since;
    };

    bool append_record(std::size_t index, const forwarded_item& item, bool is_forwarded);
    void append_forwarded(std::size_t index, const forwarded_item& item);
    bool combine_forwarded(std::size_t index, const forwarded_item& item);
    void begin_chunk(std::size_t index, source_buffer& buffer);
    void enlist(std::size_t index);
    void send(std::size_t index, const source_buffer& buffer, flush_cause cause);
    auto stale() const noexcept {
        return [this](const entry& e) {
            return buffers_[e.index].buffer.is_closed() || buffers_[e.index].serial != e.serial;
        };
    }

    worker_state& state_;
    stream_worker& worker_;
    cursor_table cursors_;
    line_vector<slot> buffers_;
    line_vector<std::byte> staging_;
    std::size_t staging_stride_ = 0;
    chunk_pool pool_;
    chunk_sender sender_;
    std::optional<shared_filler> shared_;  // with schemes that share buffers
    latency_sampler sampler_;
    age_queue<entry> begun_;
    std::vector<std::size_t> urgent_;
    std::uint32_t serial_ = 0;
    count_t num_filling_ = 0;         // buffers, in chunks and beyond the bound,
    std::uint32_t num_own_open_ = 0;  // and in chunks
};

}  // namespace crossdock
