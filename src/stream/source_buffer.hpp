// A buffer that one worker fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "crossdock/detail/stream/stream_worker.hpp"
#include "latency_sampler.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

// A worker stages so much for a buffer that it shares with others before it takes room there.
inline constexpr std::size_t staged_bytes = 512;

// Units of that: items, but all of a buffer where items differ in size.
std::uint32_t staged_units(const chunk_layout& shape, int channel) noexcept;

// An item that was pushed elsewhere and travels on.
struct forwarded_item {
    std::span<const std::byte> bytes;
    std::uint32_t tag;
    std::uint32_t source;
    std::int64_t pushed_nanoseconds;  // when it was pushed, if it is a sample, or 0
};

// Writes what an item carries beside its bytes.
inline void put_tag(stream_cursor& open, int tag_bytes, bool has_source, std::uint32_t tag,
                    std::uint32_t source) {
    if (tag_bytes == 2) {
        const auto narrow = static_cast<std::uint16_t>(tag);
        std::memcpy(open.tags, &narrow, 2);
    } else if (tag_bytes == 4) {
        std::memcpy(open.tags, &tag, 4);
    }
    open.tags += tag_bytes;
    if (has_source) *open.sources++ = source;
}

// A push writes through the buffer's cursor and does not touch this class until the cursor is at
// its end: the buffer is full, or closed, or the item is a sample.
//
// | state    | memory                                            | next                         |
// |----------|---------------------------------------------------|------------------------------|
// | closed   | for one item; all closed buffers share it         | chunk, overflow by `begin()` |
// |          |                                                   | staging by `begin_staging()` |
// | chunk    | a chunk of this worker                            | closed by `reset()`          |
// | overflow | of the process, beyond the bound (`chunk_pool`)   | closed by `reset()`          |
// | staging  | for a few items that will go into a shared buffer | closed by `reset()`          |
//
// The `filling_buffers` begins buffers, sends or deposits them as a whole, and then resets them.
//
// Invariant of a buffer that is not closed: the cursor is between the first item and `room()` units
// behind it; it ends there, or just behind the item that is the planned sample.
class source_buffer {
  public:
    enum class memory_kind : std::uint8_t { closed, chunk, overflow, staging };

    // All are kept. `closed`: the cursor of a closed buffer of the channel.
    source_buffer(const chunk_layout& shape, int channel, stream_cursor& open,
                  const stream_cursor& closed);

    int channel() const noexcept { return channel_; }
    bool is_closed() const noexcept { return kind_ == memory_kind::closed; }
    bool is_overflow() const noexcept { return kind_ == memory_kind::overflow; }
    stream_cursor& cursor() const noexcept { return *cursor_; }

    // Units of a full buffer, for those that are begun from now on. At most the channel's capacity.
    void set_limit(std::uint32_t units) noexcept { limit_ = units; }

    // Begins in memory whose head is set; beyond the bound if `ref` is `no_chunk`.
    void begin(const chunk& memory, chunk_ref ref);
    // Begins in memory of `staging_bytes()`.
    void begin_staging(std::byte* memory);
    static std::size_t staging_bytes(const chunk_layout& shape, int channel) noexcept;
    // Closed from now on; what was in it is the caller's.
    void reset() noexcept;

    // Of a buffer that is not closed.
    std::byte* items() const noexcept { return items_; }
    chunk contents() const noexcept { return {items_ - shape_->items_at(), *shape_}; }
    std::byte* memory() const noexcept { return items_ - shape_->items_at(); }
    chunk_ref ref() const noexcept { return ref_; }
    std::uint32_t room() const noexcept { return room_; }
    std::uint32_t fill() const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(cursor_->next - items_) /
                                          shape_->unit_bytes(channel_));
    }
    bool is_full() const noexcept { return cursor_->next == cursor_->end; }
    bool has_room_for(std::size_t bytes) const noexcept {
        return static_cast<std::size_t>(cursor_->end - cursor_->next) >= bytes;
    }
    std::uint32_t num_items() const noexcept {
        return shape_->has_records(channel_) ? num_records_ : fill();
    }
    std::int64_t num_pushed() const noexcept {
        return std::int64_t{num_items()} - std::int64_t{num_forwarded_};
    }

    // Appends what there is room for.
    void append(const forwarded_item& item) {
        stream_cursor& open = *cursor_;
        if (item.pushed_nanoseconds != 0) mark(fill(), item.pushed_nanoseconds);
        std::memcpy(open.next, item.bytes.data(), item.bytes.size());
        put_tag(open, shape_->tag_bytes(channel_), shape_->source_bytes(channel_) > 0, item.tag,
                item.source);
        open.next += item.bytes.size();
        ++num_forwarded_;
    }
    // As `append`; the time is set if the record is a sample, forwarded or not.
    void append_record(const forwarded_item& item, bool is_forwarded);

    // Ends the buffer behind the push that is to be a sample, if one is.
    void plan_sample(latency_sampler& sampler);
    bool is_at_sample() const noexcept {
        return planned_sample_ != latency_sampler::none && is_full();
    }
    // If the last item is the planned sample: notes when it was pushed, and lets the buffer go on
    // to its real end.
    void take_sample(std::int64_t now);
    // If the planned sample turned out to be a forwarded item: plans the next item instead, or the
    // first of the next buffer.
    void postpone_sample(latency_sampler& sampler);
    // Tells the sampler, before the buffer leaves, how many items were pushed in fact.
    void correct(latency_sampler& sampler) const;

    // Copies `units` of what is staged, starting with unit `from`, to unit `at` of a chunk.
    void copy_staged(std::uint32_t from, std::uint32_t units, const chunk& into,
                     std::uint32_t at) const;

  private:
    void set_cursor(std::byte* tags, std::uint32_t* sources, std::uint32_t units);
    void mark(std::uint32_t position, std::int64_t nanoseconds);
    std::size_t tag_bytes() const noexcept {
        return static_cast<std::size_t>(shape_->tag_bytes(channel_));
    }

    const chunk_layout* shape_;
    stream_cursor* cursor_;
    const stream_cursor* closed_;
    int channel_;
    std::uint32_t limit_;
    memory_kind kind_ = memory_kind::closed;
    chunk_ref ref_ = no_chunk;
    std::byte* items_ = nullptr;
    std::uint32_t room_ = 0;
    std::uint32_t num_records_ = 0;
    std::uint32_t num_forwarded_ = 0;
    std::uint32_t planned_sample_ = latency_sampler::none;
    std::uint32_t staged_sample_ = 0;             // a staged item that is one,
    std::int64_t staged_sample_nanoseconds_ = 0;  // which was pushed then; 0 if none is
};

}  // namespace crossdock
