// One thread's end of a stream, for items as bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/stream_layout.hpp"

namespace CROSSDOCK_EXPORT crossdock {

class stream_worker;
class CROSSDOCK_HIDDEN filling_buffers;

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

    /// @brief The key of an item that combines with others of its key. Only asked if `stream_channel::combines`.
    virtual std::uint64_t key(const std::byte* item) const = 0;
    virtual void combine(std::byte* into, const std::byte* item) const = 0;
};

/// @brief One kind of items; priorities, and requests and their replies, are channels of one stream.
struct stream_channel {
    std::size_t item_bytes;  ///< 0: records
    count_t capacity;        ///< items of a full buffer, or bytes of records
    bool is_urgent = false;  ///< leaves at every `progress()` and is handled first
    bool combines = false;
};

/// @brief Asks for the cache line there, to write it, also if another core holds it.
///
/// What compilers make of `__builtin_prefetch` for x86-64 asks for a copy to be read, and the write then
/// has to ask again. Processors that do not know the instruction do nothing.
inline void prefetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
    __asm__("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}

/// @brief Where the next item of a buffer is written. The cursor of a buffer that has not begun has
/// room for one item, in memory that all such buffers share.
struct stream_cursor {
    std::byte* next;
    std::byte* end;
    std::byte* tags;
    std::uint32_t* sources;
};

/// @brief Where a push looks for an item of the same key that still waits in the buffer.
struct waiting_items {
    std::byte* items = nullptr;  ///< the first one; null if the buffer is not begun
    std::byte* tags = nullptr;
    std::uint16_t* positions = nullptr;  ///< of items, by hash of key and tag; may be out of date
};

/// @brief What a push notes beside an item.
enum class tag_kind : std::uint8_t {
    none,
    number,  ///< two bytes: the worker's number in its endpoint
    any,     ///< the tag, if any, in two or four bytes, and the source, if it is kept
};

/// @brief What a push reads and writes, in one or two cache lines.
struct push_state {
    stream_cursor* cursors = nullptr;                ///< per channel and buffer
    stream_cursor* const* first_cursors = nullptr;   ///< per rank, in channel 0
    const stream_layout::target* targets = nullptr;  ///< per rank
    unsigned num_ranks = 0;
    unsigned last_worker = 0;
    std::uint32_t num_buffers = 0;
    std::uint32_t per_worker_mask = 0;  ///< all ones if there is a buffer for each worker
    tag_kind tags = tag_kind::none;
    int tag_bytes = 0;
    std::uint32_t own_number = 0;
    bool keeps_sources = false;
    bool is_refusing = false;          ///< pushes outside handlers
    waiting_items* waiting = nullptr;  ///< per channel and buffer, where items combine
    std::uint32_t position_mask = 0;
    std::int64_t num_combined = 0;
};

/// @brief The buffers that one worker fills, and what comes to it. `stream_port` gives it a type, and
/// describes states, threads, and the calls of the same names with what they throw.
class alignas(128) stream_worker {  // threads write to theirs all the time
  public:
    stream_worker(const stream_worker&) = delete;
    stream_worker& operator=(const stream_worker&) = delete;
    virtual ~stream_worker();

    virtual worker_id id() const noexcept = 0;

    /// @brief Appends an item of `sizeof(T)` bytes to the buffer for `to`.
    /// @param channel  one of items of that size
    /// Complexity: A few instructions; once per buffer a few hundred.
    template <class T>
    void push_item(int channel, worker_id to, const T& item) {
        store(locate(channel, to), item);
    }

    /// @brief As `push_item`, but calls `note()` once the worker is known to exist, before the push may run handlers;
    /// and `forget()` if the push throws after that.
    template <class T, class Note, class Forget>
    [[gnu::always_inline]] void push_noted(int channel, worker_id to, const T& item,
                                           const Note& note, const Forget& forget) {
        const endpoint_in_buffer at = locate(channel, to);
        note();
        if (append(at, item)) [[unlikely]] {
            try {
                after_push(*at.open);
            } catch (...) {
                forget();
                throw;
            }
        }
    }

    /// @brief As `push_item` for each of `items`, in their order.
    /// Complexity: A few instructions and a copy for each buffer that they touch; of each item only the tag.
    template <class T>
    void push_items(int channel, worker_id to, std::span<const T> items) {
        const endpoint_in_buffer at = locate(channel, to);
        while (!items.empty()) {
            const auto room = static_cast<std::size_t>(at.open->end - at.open->next) / sizeof(T);
            const std::size_t count = std::min(items.size(), room);
            store_bytes(at, items.data(), count, sizeof(T));
            items = items.subspan(count);
        }
    }

    /// @brief As `push_item`, for items whose size only the channel knows.
    void push_bytes(int channel, worker_id to, const void* item, std::size_t item_bytes) {
        store_bytes(locate(channel, to), item, 1, item_bytes);
    }

    /// @brief As `push_item`, but combines with an item of the same key that waits in the buffer, if it finds one.
    /// @param key      the item's
    /// @param key_of   (bytes of a waiting item) gives its key
    /// @param combine  (bytes of the waiting item) makes it both
    template <class T, class KeyOf, class CombineInto>
    void push_combining(int channel, worker_id to, const T& item, std::uint64_t key,
                        const KeyOf& key_of, const CombineInto& combine) {
        const endpoint_in_buffer at = locate(channel, to);
        if (!combine_waiting(at, sizeof(T), key, key_of, combine)) store(at, item);
    }

    /// @brief As `push_combining`, for items whose size only the channel knows.
    template <class KeyOf, class CombineInto>
    void push_combining_bytes(int channel, worker_id to, const void* item, std::size_t item_bytes,
                              std::uint64_t key, const KeyOf& key_of, const CombineInto& combine) {
        const endpoint_in_buffer at = locate(channel, to);
        if (!combine_waiting(at, item_bytes, key, key_of, combine)) {
            store_bytes(at, item, 1, item_bytes);
        }
    }

    /// @brief As `push_item`, for a channel of records.
    virtual void push_record(int channel, worker_id to, const std::byte* item,
                             std::size_t num_bytes) = 0;

    /// @brief Whether a push to `to` would find a buffer. If so, the next push does not wait.
    virtual bool has_room(int channel, worker_id to) = 0;

    virtual count_t progress() = 0;
    virtual void flush() = 0;
    virtual void flush(worker_id to) = 0;
    virtual void set_buffer_items(worker_id to, count_t num_items) = 0;

    /// @brief From now on only handlers push, until the stream has come to rest.
    virtual void start_drain() = 0;
    /// @brief Makes progress; true once every item of every worker has been handled.
    virtual bool test_drain() = 0;
    virtual bool is_draining() const noexcept = 0;

    virtual stream_statistics statistics() const = 0;

  protected:
    stream_worker() = default;

    struct endpoint_in_buffer {
        stream_cursor* open;
        const stream_layout::target* target;
        std::uint32_t worker;

        std::uint32_t tag() const noexcept { return target->tag + worker; }
    };

    endpoint_in_buffer locate(int channel, worker_id to) const {
        const auto rank = static_cast<std::uint32_t>(to.rank);
        const auto worker = static_cast<std::uint32_t>(to.worker);
        if (rank >= push_.num_ranks) [[unlikely]]
            refuse(to);
        if (worker > push_.last_worker) [[unlikely]]
            refuse(to);
        const stream_layout::target* const target = push_.targets + rank;
        return {
            push_.first_cursors[rank] + (static_cast<std::uint32_t>(channel) * push_.num_buffers +
                                         (worker & push_.per_worker_mask)),
            target, worker};
    }

    push_state push_;

  private:
    friend class filling_buffers;

    template <class T>
    void store(endpoint_in_buffer at, const T& item) {
        if (append(at, item)) [[unlikely]]
            after_push(*at.open);
    }

    // The last one to read this memory was another worker, whose cache holds it: ask for it early. To
    // look whether it still belongs to the buffer takes longer than what is asked for in vain, even
    // where a buffer has 512 bytes.
    static constexpr std::size_t prefetch_bytes = 512;

    // Returns whether the buffer is full now. Members are read before the item is written, as the
    // compiler must assume that the item overwrites them.
    template <class T>
    bool append(endpoint_in_buffer at, const T& item) {
        stream_cursor& open = *at.open;
        std::byte* const here = open.next;
        std::byte* const next = here + sizeof(T);
        const bool is_full = next == open.end;
        const tag_kind kind = push_.tags;
        open.next = next;
        prefetch_to_write(here + prefetch_bytes);
        std::memcpy(here, &item, sizeof(T));
        if (kind == tag_kind::none) return is_full;
        if (kind == tag_kind::number) {
            std::byte* const tag_here = open.tags;
            const auto tag = static_cast<std::uint16_t>(at.tag());
            open.tags = tag_here + 2;
            std::memcpy(tag_here, &tag, 2);
        } else {
            put_tag(open, at.tag(), push_.own_number);
        }
        return is_full;
    }

    // The buffer must have room for `count` items.
    void store_bytes(endpoint_in_buffer at, const void* items, std::size_t count,
                     std::size_t item_bytes) {
        stream_cursor& open = *at.open;
        std::memcpy(open.next, items, count * item_bytes);
        open.next += count * item_bytes;
        if (push_.tags == tag_kind::number) {
            const auto tag = static_cast<std::uint16_t>(at.tag());
            for (std::size_t i = 0; i < count; ++i) std::memcpy(open.tags + 2 * i, &tag, 2);
            open.tags += 2 * count;
        } else if (push_.tags == tag_kind::any) {
            for (std::size_t i = 0; i < count; ++i) put_tag(open, at.tag(), push_.own_number);
        }
        if (open.next == open.end) [[unlikely]]
            after_push(open);
    }

    template <class KeyOf, class CombineInto>
    bool combine_waiting(endpoint_in_buffer at, std::size_t item_bytes, std::uint64_t key,
                         const KeyOf& key_of, const CombineInto& combine) {
        const waiting_items& waiting = push_.waiting[at.open - push_.cursors];
        if (waiting.items == nullptr || push_.is_refusing) return false;
        const auto fill = static_cast<std::size_t>(at.open->next - waiting.items) / item_bytes;
        std::uint16_t& slot = position_slot(waiting, key, at.tag());
        const std::size_t position = slot;
        std::byte* const other = waiting.items + position * item_bytes;
        if (position < fill && key_of(other) == key && has_tag(waiting, position, at.tag())) {
            combine(other);
            ++push_.num_combined;
            return true;
        }
        slot = static_cast<std::uint16_t>(fill);
        return false;
    }

    std::uint16_t& position_slot(const waiting_items& waiting, std::uint64_t key,
                                 std::uint32_t tag) const {
        const std::uint64_t mixed = (key + tag) * 0x9E3779B97F4A7C15ULL;  // Fibonacci hashing
        return waiting.positions[(mixed >> 40) & push_.position_mask];
    }

    bool has_tag(const waiting_items& waiting, std::size_t position, std::uint32_t tag) const {
        if (push_.tag_bytes == 0) return true;
        std::uint32_t found = 0;  // little endian: the lower half is what two bytes hold
        const auto bytes = static_cast<std::size_t>(push_.tag_bytes);
        std::memcpy(&found, waiting.tags + position * bytes, bytes);
        return found == tag;
    }

    [[noreturn]] void refuse(worker_id to) const;
    virtual void after_push(stream_cursor& open) = 0;
    void put_tag(stream_cursor& open, std::uint32_t tag, std::uint32_t source);
};

}  // namespace crossdock
