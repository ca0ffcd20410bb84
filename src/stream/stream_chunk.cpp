#include "stream_chunk.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/error.hpp"

namespace crossdock {

namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Empties a list: appends its chunks in the order in which they were put.
template <class Next>
void take_all(std::atomic<chunk_ref>& head, std::vector<chunk_ref>& into, const Next& next) {
    if (head.load(std::memory_order_relaxed) == no_chunk) return;
    const auto first = static_cast<std::ptrdiff_t>(into.size());
    for (chunk_ref ref = head.exchange(no_chunk, std::memory_order_acquire); ref != no_chunk;
         ref = next(ref)) {
        append_with_reserve(into, ref);
    }
    std::reverse(into.begin() + first, into.end());
}

}  // namespace

chunk_layout::chunk_layout(std::span<const stream_channel> channels, int group_size, int tag_bytes,
                           int source_bytes)
    : channels_(channels.begin(), channels.end()),
      group_size_(group_size),
      tag_bytes_(tag_bytes),
      source_bytes_(source_bytes) {
    const std::size_t links = static_cast<std::size_t>(group_size) * sizeof(chunk_ref);
    head_at_ = links_at() + aligned(links);
    items_at_ = aligned(offsets_at() + links + sizeof(std::uint32_t));
    for (int c = 0; c < num_channels(); ++c) {
        stride_ = std::max(stride_, aligned(end(c, capacity(c)) + sizeof(std::uint64_t)));
    }
}

void chunk::close(std::uint32_t units) const noexcept {
    const std::byte* const old_tags = open_tags();
    const std::uint32_t* const old_sources = open_sources();
    head().units = units;
    const auto tag_bytes = static_cast<std::size_t>(shape_->tag_bytes(channel()));
    const auto source_bytes = static_cast<std::size_t>(shape_->source_bytes(channel()));
    if (units == shape_->capacity(channel())) return;
    if (tag_bytes > 0) std::memmove(tags(), old_tags, units * tag_bytes);
    if (source_bytes > 0) std::memmove(sources(), old_sources, units * source_bytes);
}

void chunk::add_sample(std::uint32_t position, std::int64_t nanoseconds) const noexcept {
    const std::uint32_t slot = head().num_samples.fetch_add(1, std::memory_order_relaxed);
    if (slot >= chunk_head::max_samples) return;
    head().sample_nanoseconds[slot] = nanoseconds;
    head().sample_positions[slot] = position;
}

chunk_memory::chunk_memory(const chunk_layout& shape, const sizes& s,
                           std::vector<std::byte*> blocks, int here)
    : shape_(shape), sizes_(s), blocks_(std::move(blocks)), here_(here) {
    const auto workers = static_cast<std::size_t>(s.num_workers);
    shared_at_ = line * (2 * workers + workers + 1);
    chunks_at_ =
        shared_at_ + aligned((s.num_shared_buffers + num_shared_counts) * sizeof(std::uint64_t));
}

std::size_t chunk_memory::block_bytes(const chunk_layout& shape, const sizes& s) {
    const std::size_t num_chunks =
        static_cast<std::size_t>(s.num_workers) * s.chunks_per_worker + s.chunks_to_receive;
    if (num_chunks >= (std::size_t{1} << chunk_bits)) {
        throw error(errc::invalid_argument, std::to_string(num_chunks) +
                                                " buffers of one process are more than " +
                                                std::to_string((1 << chunk_bits) - 1));
    }
    return chunk_memory(shape, s, {}, 0).chunks_at_ + num_chunks * shape.stride();
}

void chunk_memory::initialize() {
    std::byte* const block = blocks_[index(here_)];
    for (std::size_t at = 0; at < shared_at_; at += line) {
        new (block + at) std::atomic<chunk_ref>(no_chunk);
    }
    for (std::uint32_t b = 0; b < sizes_.num_shared_buffers + num_shared_counts; ++b) {
        new (block + shared_at_ + b * sizeof(std::uint64_t)) std::atomic<std::uint64_t>(0);
    }
    chunk_ref ref = (static_cast<chunk_ref>(here_) << chunk_bits) + 1;
    for (std::uint32_t owner = 0; owner <= static_cast<std::uint32_t>(sizes_.num_workers);
         ++owner) {
        const bool receives = owner == static_cast<std::uint32_t>(sizes_.num_workers);
        const std::uint32_t count = receives ? sizes_.chunks_to_receive : sizes_.chunks_per_worker;
        for (std::uint32_t i = 0; i < count; ++i, ++ref) {
            const chunk c = at(ref);
            new (&c.state()) chunk_state{};
            new (&c.head()) chunk_head{};
            c.state().self = ref;
            c.state().owner = owner;
            give_back(ref);
        }
    }
}

std::atomic<chunk_ref>& chunk_memory::inbox(int process, int worker,
                                            bool is_urgent) const noexcept {
    return *reinterpret_cast<std::atomic<chunk_ref>*>(
        blocks_[index(process)] + line * (2 * index(worker) + (is_urgent ? 1 : 0)));
}

std::atomic<chunk_ref>& chunk_memory::free_list(int process, std::uint32_t owner) const noexcept {
    return *reinterpret_cast<std::atomic<chunk_ref>*>(
        blocks_[index(process)] + line * (2 * index(sizes_.num_workers) + owner));
}

// Where an endpoint is a process, its workers' links are the first ones; of a node, all processes'.
chunk_ref& chunk_memory::link(chunk_ref ref, int process, int worker) const noexcept {
    const bool is_node = shape_.group_size() > sizes_.num_workers;
    return at(ref).links()[index((is_node ? process * sizes_.num_workers : 0) + worker)];
}

void chunk_memory::put(int process, int worker, bool is_urgent, chunk_ref ref) const noexcept {
    push_front(inbox(process, worker, is_urgent), link(ref, process, worker), ref);
}

void chunk_memory::take(int worker, bool is_urgent, std::vector<chunk_ref>& into) const {
    take_all(inbox(here_, worker, is_urgent), into,
             [&](chunk_ref ref) { return link(ref, here_, worker); });
}

void chunk_memory::count_shared(int holder, int change) const noexcept {
    const auto step = static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    const std::uint64_t count = shared_buffer(holder, sizes_.num_shared_buffers)
                                    .fetch_add(step, std::memory_order_relaxed) +
                                step;
    std::atomic<std::uint64_t>& peak = shared_buffer(holder, sizes_.num_shared_buffers + 1);
    std::uint64_t known = peak.load(std::memory_order_relaxed);
    // Who closes a buffer may count before who has begun it: less than none for a moment.
    const auto is_more = [&] {
        return static_cast<std::int64_t>(known) < static_cast<std::int64_t>(count);
    };
    while (change > 0 && is_more() &&
           !peak.compare_exchange_weak(known, count, std::memory_order_relaxed)) {
    }
}

bool chunk_memory::has_arrivals(int worker) const noexcept {
    return inbox(here_, worker, false).load(std::memory_order_relaxed) != no_chunk ||
           inbox(here_, worker, true).load(std::memory_order_relaxed) != no_chunk;
}

void chunk_memory::give_back(chunk_ref ref) const noexcept {
    chunk_state& state = at(ref).state();
    push_front(free_list(static_cast<int>((ref - 1) >> chunk_bits), state.owner), state.next, ref);
}

void chunk_memory::take_free(std::uint32_t owner, std::vector<chunk_ref>& into) const {
    take_all(free_list(here_, owner), into, [&](chunk_ref ref) { return at(ref).state().next; });
}

}  // namespace crossdock
