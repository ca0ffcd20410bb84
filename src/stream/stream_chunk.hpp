// Chunks, the memory of a stream's buffers, and the lock-free lists that they move through. All of
// it may lie in memory that processes share at different addresses, so chunks are known by
// reference.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "crossdock/detail/stream/stream_worker.hpp"

namespace crossdock {

// Names a chunk within a node, by its process and its number there. Zero names none.
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
    std::uint32_t phase;       // drains that had ended at its sender
    std::uint32_t stage;       // of the route: the next one
    std::uint32_t source;      // global number of the worker that filled it, if one alone did
    std::int32_t worker;       // that it is for, or -1 if it is for several
    std::uint32_t is_grouped;  // items are in the order of their workers, which begin at `offsets`:
                               // 1 by the sender, 2 where it came
    std::uint32_t sequence;    // among the messages of its sender to this process, if order is kept
    std::atomic<std::uint32_t> num_samples;
    std::array<std::int64_t, max_samples> sample_nanoseconds;
    std::array<std::uint32_t, max_samples> sample_positions;
};
static_assert(sizeof(chunk_head) == 64);

// The part that is not sent.
struct chunk_state {
    std::atomic<std::uint32_t> missing;  // see `shared_buffer`
    std::atomic<std::uint32_t> record_items;
    std::atomic<std::uint32_t> readers;  // workers that have not handled their share
    chunk_ref next;                      // in a list of free chunks, or of those to send
    chunk_ref self;
    std::uint32_t owner;                // number of the list of free chunks that it returns to
    std::uint32_t cause;                // why the shared buffer was closed
    std::int32_t destination;           // rank, while it waits to be sent
    std::atomic<std::uint32_t> serial;  // times that it has begun as a shared buffer
};
static_assert(sizeof(chunk_state) <= 64);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

// Puts a chunk, whose link in the list is `next`, in front of a list that any thread adds to.
inline void push_front(std::atomic<chunk_ref>& head, chunk_ref& next, chunk_ref ref) noexcept {
    next = head.load(std::memory_order_relaxed);
    while (!head.compare_exchange_weak(next, ref, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    }
}

// Where the parts of a chunk lie: the first four at the same place for all channels.
//
//     state | links | head | offsets | items | tags | sources
//
// A link for each worker of the endpoint, as the chunk may be in the inboxes of all; one offset
// more.
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
    // In a chunk of so many units.
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

// A view of a chunk: a pointer that knows the layout.
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
    // Of a chunk that is being filled: they begin behind the room for all items.
    std::byte* open_tags() const noexcept {
        return memory_ + shape_->tags_at(channel(), shape_->capacity(channel()));
    }
    std::uint32_t* open_sources() const noexcept {
        return reinterpret_cast<std::uint32_t*>(
            memory_ + shape_->sources_at(channel(), shape_->capacity(channel())));
    }
    // Of a closed chunk: they begin behind the last item.
    std::byte* tags() const noexcept { return memory_ + shape_->tags_at(channel(), head().units); }
    std::uint32_t* sources() const noexcept {
        return reinterpret_cast<std::uint32_t*>(memory_ +
                                                shape_->sources_at(channel(), head().units));
    }
    // Calls use(position, tag) for all items of a closed chunk; the tag is 0 where there is none.
    template <class Use>
    void for_each_tag(const Use& use) const;

    // Sets the number of units, and moves tags and sources to the end of the items.
    void close(std::uint32_t units) const noexcept;

    std::span<const std::byte> message() const noexcept {
        return {memory_ + shape_->head_at(),
                shape_->end(channel(), head().units) - shape_->head_at()};
    }
    std::span<std::byte> message_room() const noexcept {
        return {memory_ + shape_->head_at(), shape_->stride() - shape_->head_at()};
    }

    void add_sample(std::uint32_t position, std::int64_t nanoseconds) const noexcept;
    // Samples that were added, as many as there is room for.
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
//     inboxes: 2 per worker | free lists: 1 per worker, 1 for MPI | shared buffers' words | chunks
//
// A worker has an inbox for urgent chunks and one for others. MPI receives into chunks of a list of
// its own. The inboxes and lists are heads of linked lists, each in a cache line.
class chunk_memory {
  public:
    // `num_shared_buffers` must be equal in all blocks: chunks begin behind them.
    struct sizes {
        int num_workers;
        std::uint32_t chunks_per_worker;
        std::uint32_t chunks_to_receive;
        std::uint32_t num_shared_buffers;
    };

    // blocks: the memory of each process of the node; `here` is the number of this one.
    chunk_memory(const chunk_layout& shape, const sizes& s, std::vector<std::byte*> blocks,
                 int here);

    static std::size_t block_bytes(const chunk_layout& shape, const sizes& s);

    // Initializes the block of this process, with all chunks free. Before any other process uses
    // it.
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

    // Whether a chunk belongs to a worker of this process.
    bool is_of(chunk_ref ref, int worker) const noexcept {
        return static_cast<int>((ref - 1) >> chunk_bits) == here_ &&
               at(ref).state().owner == static_cast<std::uint32_t>(worker);
    }

    // Puts a chunk into a worker's inbox; any thread may.
    void put(int process, int worker, bool is_urgent, chunk_ref ref) const noexcept;
    // Empties an inbox of this process: appends its chunks to `into`, in the order in which they
    // were put. Only the worker's thread may.
    void take(int worker, bool is_urgent, std::vector<chunk_ref>& into) const;
    bool has_arrivals(int worker) const noexcept;

    // A chunk that is free returns to the list of its owner, who takes all at once, in the order in
    // which they returned.
    void give_back(chunk_ref ref) const noexcept;
    void take_free(std::uint32_t owner, std::vector<chunk_ref>& into) const;

    // The word of a `shared_buffer`, which the process `holder` keeps.
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
