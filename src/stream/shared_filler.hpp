// Fills and closes the buffers that a worker shares with others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "age_queue.hpp"
#include "chunk_sender.hpp"
#include "line_allocator.hpp"
#include "shared_buffer.hpp"
#include "source_buffer.hpp"

namespace crossdock {

// One worker's side of all shared buffers of its process or node. It moves what the worker has
// staged into them. If it has no chunk to open one with, what is staged goes into memory beyond the
// bound (`chunk_pool`).
//
// Invariant: of every open buffer that a worker has items in, but for urgent ones, it has an entry
// in the order of age. So each of the workers can close it, whatever the others are busy with.
class shared_filler {
  public:
    // All are kept.
    shared_filler(worker_state& state, chunk_pool& pool, chunk_sender& sender);

    // Moves what has been staged, from the time `since` on, into the shared buffer.
    void deposit(std::size_t index, const source_buffer& staged, std::int64_t since);

    void close(std::size_t index, flush_cause cause) { close(index, no_chunk, cause); }
    // Those in which this worker has items, and those of workers that wait for it to drain; but not
    // while it drains and others may still fill them.
    void close_all(flush_cause cause);
    // Those in which items of this worker are from `limit` or before.
    void close_old(std::int64_t limit);
    // The oldest in a chunk of this worker.
    void close_oldest();
    // Chunks of this worker in which it has items, of a buffer that is open.
    std::size_t num_own_open();

  private:
    // A chunk as a shared buffer, once.
    struct opening {
        chunk_ref ref;
        std::uint32_t serial;

        friend bool operator==(const opening&, const opening&) = default;
    };
    // A shared buffer with items of this worker, since the first of them was staged; stale once it
    // has left.
    struct entry {
        std::size_t index;
        opening filled;
        std::int64_t since;
        bool is_own;  // in a chunk of this worker
    };

    struct known_buffer {
        int channel;
        opening last;  // of those that became an entry
    };

    shared_buffer at(std::size_t index) const noexcept;
    bool open(std::size_t index, const shared_buffer& buffer);
    void close(std::size_t index, chunk_ref expected, flush_cause cause);
    void send_if(chunk_ref ref, std::size_t index, const shared_buffer& buffer);
    void note(std::size_t index, chunk_ref ref, std::int64_t since);
    void spill(std::size_t index, const source_buffer& staged, std::uint32_t from);
    bool is_stale(const entry& e) const noexcept;
    auto stale() const noexcept {
        return [this](const entry& e) { return is_stale(e); };
    }
    std::uint64_t num_drains(std::uint32_t num_phases) const noexcept;
    bool may_close() const noexcept;
    bool others_drain() const noexcept;

    worker_state& state_;
    chunk_pool& pool_;
    chunk_sender& sender_;
    line_vector<known_buffer> known_;  // by index
    age_queue<entry> entries_;
};

}  // namespace crossdock
