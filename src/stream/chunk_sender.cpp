#include "chunk_sender.hpp"

#include <cstring>

namespace crossdock {

void chunk_sender::send(chunk_ref ref, std::size_t index, flush_cause cause) {
    const stream_layout& layout = state_.layout();
    const stream_layout::buffer_end& end = state_.end_of(index);
    const chunk c = state_.memory().at(ref);
    const std::uint32_t num_items = c.head().items;
    const bool is_last_hop = end.stage == layout.num_stages();
    if (layout.scheme() == stream_scheme::wsp && is_last_hop &&
        layout.group_size(end.endpoint) > 1) {
        group(c);
    }
    stream_statistics& counts = state_.statistics;
    ++counts.messages;
    ++counts.messages_by_cause[static_cast<std::size_t>(cause)];
    counts.message_items += num_items;
    const std::size_t num_bytes = state_.engine.hand_over(ref, end.endpoint);
    if (num_bytes > 0) {
        ++counts.mpi_messages;
        counts.mpi_bytes += static_cast<count_t>(num_bytes);
    }
}

void chunk_sender::group(const chunk& c) {
    if (state_.layout().has_one_hop()) {
        buckets_.divide_here(c, state_.shape());
    } else {
        const auto workers = static_cast<std::uint32_t>(state_.layout().num_workers());
        buckets_.divide(
            c, state_.shape(), [&](std::uint32_t tag) { return tag % workers; },
            [](std::uint32_t, std::span<const std::byte>, std::uint32_t, std::uint32_t) {});
    }
    c.head().is_grouped = 1;
}

void chunk_sender::send_ready() {
    while (const auto ready = pool_.take_ready()) {
        const auto& [from, ref] = *ready;
        const chunk waiting(from.memory, state_.shape());
        // What was staged for a shared buffer is added to it for as long as it waits.
        if (fills_together(state_.layout().scheme())) waiting.close(waiting.head().units);
        std::memcpy(state_.memory().at(ref).message_room().data(), waiting.message().data(),
                    waiting.message().size());
        send(ref, from.index, from.cause);
        pool_.reuse(from.memory);
    }
}

}  // namespace crossdock
