// A buffer that several workers fill without waiting for each other.
#pragma once

#include <atomic>
#include <cstdint>

#include "crossdock/detail/stream/stream_options.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

// One word of shared memory says which chunk is open and how many of its units are taken. A worker
// takes room by a compare-and-swap of that word, fills it in at leisure, and then says so.
//
// | state  | word         | next                                                                |
// |--------|--------------|---------------------------------------------------------------------|
// | closed | 0            | open by `open()`                                                    |
// | open   | chunk, units | open with more units by `take()`; closed by `close()`, or by the    |
// |        |              | `take()` that leaves no room                                        |
//
// Invariant: each unit of a chunk is taken by exactly one worker. The chunk's counter `missing` is
// the number of units that are filled in, less the total from when the chunk is closed, modulo
// 2^32. So it becomes zero once: when the chunk is closed and all of it is filled in. Whoever
// brings it there, by `fill_in()` or `close()`, is the last to touch the chunk and gets it to send.
//
//     capacity 4      word     missing
//     open chunk 7    (7, 0)   0
//     A takes 3       (7, 3)   0
//     B takes 1       0        0          and has closed it
//     B fills in      0        1 - 4
//     A fills in      0        0          and gets chunk 7
//
// This is a view: the word and the chunks lie in `chunk_memory`.
class shared_buffer {
  public:
    // Units that a worker has taken and must fill in. If `ref` is `no_chunk`, the buffer is closed;
    // if `units` is 0, its chunk has too little room.
    struct room {
        chunk_ref ref = no_chunk;
        std::uint32_t first = 0;
        std::uint32_t units = 0;
        bool is_last = false;  // the taking has closed the buffer
    };

    // Number `number` of the buffers whose words are with the process `holder`; with room for
    // `capacity` units. The memory is kept.
    shared_buffer(const chunk_memory& memory, int holder, std::uint32_t number,
                  std::uint32_t capacity) noexcept
        : memory_(memory),
          word_(memory.shared_buffer(holder, number)),
          holder_(holder),
          capacity_(capacity) {}

    // The chunk that is open, or `no_chunk`.
    chunk_ref current() const noexcept;

    // Opens the buffer with a chunk whose head is set; false if another worker was faster.
    bool open(chunk_ref ref) const noexcept;

    // Takes up to `units`, or, where items must stay `together`, all of them or none.
    room take(std::uint32_t units, bool together) const noexcept;

    // Says that what was taken is filled in, with so many records if items differ in size. Returns
    // the chunk if this was the last of it, which the caller must send, or `no_chunk`.
    chunk_ref fill_in(const room& taken, std::uint32_t records) const noexcept;

    // Closes the buffer if its chunk is `expected`, or whatever it is if that is `no_chunk`.
    // Returns the chunk if all of it is filled in, which the caller must send, or `no_chunk`. A
    // chunk that holds nothing returns to its owner.
    chunk_ref close(chunk_ref expected, flush_cause cause) const noexcept;

    // Why a chunk was closed that is to be sent.
    flush_cause cause_of(chunk_ref ref) const noexcept {
        return static_cast<flush_cause>(memory_.at(ref).state().cause);
    }

  private:
    void set_total(const chunk& c, std::uint32_t units, flush_cause cause) const noexcept;
    chunk_ref change_missing(chunk_ref ref, std::uint32_t change) const noexcept;

    const chunk_memory& memory_;
    std::atomic<std::uint64_t>& word_;
    int holder_;
    std::uint32_t capacity_;
};

}  // namespace crossdock
