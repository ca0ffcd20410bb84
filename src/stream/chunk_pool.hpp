// The memory for buffers that a worker begins.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "crossdock/detail/stream/stream_options.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

// A worker's chunks, a fixed number of them, and memory of the process for what handlers push while
// all of these are in use. Such a buffer beyond the bound waits, once it is full, for a free chunk
// that it is copied into. The chunk that returned last is used first, as caches still hold it.
//
// A chunk of the worker
//
// | state   | next                                                                   |
// |---------|------------------------------------------------------------------------|
// | free    | in use by `take()`                                                     |
// | in use  | free when whoever reads it last gives it back to `chunk_memory`, or by |
// |         | `put_back()` if it was not used after all                              |
//
// Invariant: a new buffer never overtakes one that waits: `has_free()` is false while any does.
class chunk_pool {
  public:
    struct waiting_buffer {
        std::byte* memory;
        std::size_t index;  // of the buffer, among those of the worker
        flush_cause cause;
    };
    struct ready_buffer {
        waiting_buffer from;
        chunk_ref into;
    };

    // `memory` is kept.
    chunk_pool(const chunk_memory& memory, int worker);

    // Whether a new buffer finds a chunk.
    bool has_free();
    // A free chunk, or `no_chunk`.
    chunk_ref take();
    void put_back(chunk_ref ref) { free_.push_back(ref); }

    // Memory beyond the bound, with state and head of a chunk.
    std::byte* take_overflow();
    void wait(const waiting_buffer& buffer);
    bool has_waiting() const noexcept { return !waiting_.empty(); }
    // What began to wait last of a buffer and still does, or null.
    std::byte* last_waiting(std::size_t index) const noexcept {
        return index < last_waiting_.size() ? last_waiting_[index] : nullptr;
    }
    // The buffer that has waited longest and a chunk for it, if one is free. Its memory is the
    // caller's until `reuse`.
    std::optional<ready_buffer> take_ready();
    void reuse(std::byte* overflow) { free_overflow_.push_back(overflow); }
    // Frees what the busiest moment took. While none of it is in use.
    void free_overflow() noexcept;

  private:
    struct aligned_delete {
        void operator()(std::byte* memory) const noexcept;
    };

    void fetch();

    const chunk_memory& memory_;
    std::uint32_t owner_;
    std::vector<chunk_ref> free_;
    std::deque<waiting_buffer> waiting_;
    std::vector<std::byte*> last_waiting_;  // by index
    std::vector<std::byte*> free_overflow_;
    std::vector<std::unique_ptr<std::byte, aligned_delete>> overflow_;
};

}  // namespace crossdock
