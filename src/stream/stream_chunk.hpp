// A buffer of a stream in memory, and the lists without locks that it moves through. All of it may
// lie in memory that several processes share: references instead of pointers, no locks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "crossdock/stream/stream_channel.hpp"

namespace crossdock {

// Names a chunk inside a node: its process and its number there. Zero is none.
using chunk_ref = std::uint32_t;
inline constexpr chunk_ref no_chunk = 0;

// What chunks and their items are aligned to.
struct alignas(64) chunk_line {
    std::array<std::byte, 64> bytes;
};

// The part of a chunk that is sent in front of its items.
struct chunk_head {
    static constexpr std::uint32_t max_samples = 2;

    std::uint32_t units;  // of the payload: items, or bytes of records
    std::uint32_t items;
    std::uint32_t channel;
    std::uint32_t phase;       // drains that its sender had behind it
    std::uint32_t stage;       // of the route, the next one
    std::uint32_t source;      // global number of the worker that filled it, if one alone did
    std::int32_t worker;       // it is for, or -1
    std::uint32_t is_grouped;  // the workers' shares are in order, `offsets` tells where
    std::uint32_t sequence;
    std::atomic<std::uint32_t> num_samples;
    std::array<std::int64_t, max_samples> sample_nanoseconds;
    std::array<std::uint32_t, max_samples> sample_positions;
};
static_assert(sizeof(chunk_head) == 64);

// The part that stays.
struct chunk_state {
    std::atomic<std::uint32_t> missing;  // units taken but not yet filled in, modulo 2^32
    std::atomic<std::uint32_t> record_items;
    std::atomic<std::uint32_t> readers;  // workers that have not handled their share
    chunk_ref next;                      // in a list of free chunks, or of those to send
    chunk_ref self;
    std::uint32_t owner;  // the list it returns to
    std::uint32_t cause;
    std::int32_t destination;           // rank, while it waits to be sent
    std::atomic<std::uint32_t> serial;  // times that it has begun as a shared buffer
};
static_assert(sizeof(chunk_state) <= 64);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

// Where the parts of a chunk lie; equal for all channels but for the payload.
//
//     state | links: one per worker of the endpoint | head | offsets: one more | items | tags | sources
class chunk_layout {
  public:
    chunk_layout(std::span<const stream_channel> channels, int group_size, int tag_bytes,
                 int source_bytes);

    std::size_t stride() const noexcept { return stride_; }
    std::size_t item_bytes(int channel) const noexcept {
        return channels_[index(channel)].item_bytes;
    }
    bool has_records(int channel) const noexcept { return item_bytes(channel) == 0; }
    std::size_t unit_bytes(int channel) const noexcept {
        return has_records(channel) ? 1 : item_bytes(channel);
    }
    std::uint32_t capacity(int channel) const noexcept {
        return static_cast<std::uint32_t>(channels_[index(channel)].capacity);
    }
    int tag_bytes(int channel) const noexcept { return has_records(channel) ? 0 : tag_bytes_; }
    int source_bytes(int channel) const noexcept {
        return has_records(channel) ? 0 : source_bytes_;
    }
    int group_size() const noexcept { return group_size_; }
    const stream_channel& channel(int number) const noexcept { return channels_[index(number)]; }
    int num_channels() const noexcept { return static_cast<int>(channels_.size()); }

    std::size_t links_at() const noexcept { return 64; }
    std::size_t head_at() const noexcept { return head_at_; }
    std::size_t offsets_at() const noexcept { return head_at_ + sizeof(chunk_head); }
    std::size_t items_at() const noexcept { return items_at_; }
    // Behind so many units.
    std::size_t tags_at(int channel, std::uint32_t units) const noexcept {
        return (items_at_ + units * unit_bytes(channel) + 3) / 4 * 4;
    }
    std::size_t sources_at(int channel, std::uint32_t units) const noexcept {
        return (tags_at(channel, units) + units * static_cast<std::size_t>(tag_bytes(channel)) +
                3) /
               4 * 4;
    }
    std::size_t end(int channel, std::uint32_t units) const noexcept {
        return sources_at(channel, units) + units * static_cast<std::size_t>(source_bytes(channel));
    }

  private:
    static std::size_t index(int channel) noexcept { return static_cast<std::size_t>(channel); }

    std::vector<stream_channel> channels_;
    int group_size_;
    int tag_bytes_;
    int source_bytes_;
    std::size_t head_at_;
    std::size_t items_at_;
    std::size_t stride_ = 0;
};

// A chunk where it lies; a pointer with names.
class chunk {
  public:
    chunk(std::byte* memory, const chunk_layout& shape) noexcept
        : memory_(memory), shape_(&shape) {}

    chunk_state& state() const noexcept { return *reinterpret_cast<chunk_state*>(memory_); }
    chunk_head& head() const noexcept {
        return *reinterpret_cast<chunk_head*>(memory_ + shape_->head_at());
    }
    chunk_ref* links() const noexcept {
        return reinterpret_cast<chunk_ref*>(memory_ + shape_->links_at());
    }
    std::uint32_t* offsets() const noexcept {
        return reinterpret_cast<std::uint32_t*>(memory_ + shape_->offsets_at());
    }
    int channel() const noexcept { return static_cast<int>(head().channel); }
    std::byte* items() const noexcept { return memory_ + shape_->items_at(); }
    // Of a chunk that is being filled: behind the room for all items.
    std::byte* open_tags() const noexcept {
        return memory_ + shape_->tags_at(channel(), shape_->capacity(channel()));
    }
    std::uint32_t* open_sources() const noexcept {
        return reinterpret_cast<std::uint32_t*>(
            memory_ + shape_->sources_at(channel(), shape_->capacity(channel())));
    }
    // Of one that is closed: behind the items there are.
    std::byte* tags() const noexcept { return memory_ + shape_->tags_at(channel(), head().units); }
    std::uint32_t* sources() const noexcept {
        return reinterpret_cast<std::uint32_t*>(memory_ +
                                                shape_->sources_at(channel(), head().units));
    }
    // use(position, tag) for all items of a closed chunk; the tag is 0 where there is none.
    template <class Use>
    void for_each_tag(const Use& use) const;

    // Sets the number of units and moves tags and sources up behind the items.
    void close(std::uint32_t units) const noexcept;

    std::span<const std::byte> message() const noexcept {
        return {memory_ + shape_->head_at(),
                shape_->end(channel(), head().units) - shape_->head_at()};
    }
    std::span<std::byte> message_room() const noexcept {
        return {memory_ + shape_->head_at(), shape_->stride() - shape_->head_at()};
    }

    void add_sample(std::uint32_t position, std::int64_t nanoseconds) const noexcept;
    // Those there was room for.
    std::uint32_t num_samples() const noexcept {
        return std::min(head().num_samples.load(), chunk_head::max_samples);
    }

  private:
    std::byte* memory_;
    const chunk_layout* shape_;
};

template <class Use>
void chunk::for_each_tag(const Use& use) const {
    const std::uint32_t units = head().units;
    const auto with = [&](auto tag) {
        const std::byte* const from = tags();
        for (std::uint32_t i = 0; i < units; ++i) {
            std::memcpy(&tag, from + i * sizeof tag, sizeof tag);
            use(i, std::uint32_t{tag});
        }
    };
    switch (shape_->tag_bytes(channel())) {
        case 2: return with(std::uint16_t{});
        case 4: return with(std::uint32_t{});
        default:
            for (std::uint32_t i = 0; i < units; ++i) use(i, 0);
    }
}

// The memory of the streams of one node: one block for each process that shares it.
//
// A block holds the heads of its workers' inboxes (urgent and not), of the lists of free chunks (one
// per worker and one for what MPI receives into), the fill of buffers that several workers share,
// and chunks.
class chunk_memory {
  public:
    // `num_shared_buffers` must be equal in all blocks: chunks begin behind them.
    struct sizes {
        int num_workers;
        std::uint32_t chunks_per_worker;
        std::uint32_t chunks_to_receive;
        std::uint32_t num_shared_buffers;
    };

    // blocks: the memory of each process of the node; `here` is the own one.
    chunk_memory(const chunk_layout& shape, const sizes& s, std::vector<std::byte*> blocks,
                 int here);

    static std::size_t block_bytes(const chunk_layout& shape, const sizes& s);

    // Makes the own block: all chunks are free. Before any other process looks at it.
    void initialize();

    int here() const noexcept { return here_; }
    const chunk_layout& shape() const noexcept { return shape_; }
    const sizes& numbers() const noexcept { return sizes_; }

    chunk at(chunk_ref ref) const noexcept {
        const chunk_ref number = ref - 1;
        return {blocks_[number >> chunk_bits] + chunks_at_ +
                    (number & ((1U << chunk_bits) - 1)) * shape_.stride(),
                shape_};
    }

    // Whether it returns to a worker of this process.
    bool is_of(chunk_ref ref, int worker) const noexcept {
        return static_cast<int>((ref - 1) >> chunk_bits) == here_ &&
               at(ref).state().owner == static_cast<std::uint32_t>(worker);
    }

    // Chunks on their way to a worker; many may put, one takes.
    void put(int process, int worker, bool is_urgent, chunk_ref ref) const noexcept;
    // Appends all that are there to `into`, in the order in which each sender put them.
    void take(int worker, bool is_urgent, std::vector<chunk_ref>& into) const;
    bool has_arrivals(int worker) const noexcept;

    // Free chunks return to where they came from; the owner takes all at once.
    void give_back(chunk_ref ref) const noexcept;
    void take_free(std::uint32_t owner, std::vector<chunk_ref>& into) const;

    // The fill of a shared buffer, kept by the process `holder`.
    std::atomic<std::uint64_t>& shared_buffer(int holder, std::uint32_t number) const noexcept {
        return reinterpret_cast<std::atomic<std::uint64_t>*>(blocks_[index(holder)] +
                                                             shared_at_)[number];
    }

    // How often workers that share buffers have begun to drain.
    void add_draining(int holder) const noexcept {
        shared_buffer(holder, sizes_.num_shared_buffers + 2)
            .fetch_add(1, std::memory_order_acq_rel);
    }
    std::uint64_t num_draining(int holder) const noexcept {
        return shared_buffer(holder, sizes_.num_shared_buffers + 2).load(std::memory_order_acquire);
    }

    // How many shared buffers are being filled, and the most there were.
    void count_shared(int holder, int change) const noexcept;
    std::int64_t peak_shared(int holder) const noexcept {
        // A buffer may be begun again before it is counted as closed.
        return std::min(
            static_cast<std::int64_t>(shared_buffer(holder, sizes_.num_shared_buffers + 1)
                                          .load(std::memory_order_relaxed)),
            std::int64_t{sizes_.num_shared_buffers});
    }

  private:
    static constexpr std::uint32_t num_shared_counts = 3;  // behind the shared buffers
    static constexpr unsigned chunk_bits = 20;
    static constexpr std::size_t line = 64;

    static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
    std::atomic<chunk_ref>& inbox(int process, int worker, bool is_urgent) const noexcept;
    std::atomic<chunk_ref>& free_list(int process, std::uint32_t owner) const noexcept;
    chunk_ref& link(chunk_ref ref, int process, int worker) const noexcept;

    chunk_layout shape_;
    sizes sizes_;
    std::vector<std::byte*> blocks_;
    int here_;
    std::size_t shared_at_;
    std::size_t chunks_at_;
};

}  // namespace crossdock
