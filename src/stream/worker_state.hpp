// What the parts of a worker share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "crossdock/detail/stream/stream_options.hpp"
#include "stream_engine.hpp"

namespace crossdock {

// Who the worker is, where it stands, and what it has counted. Written by the worker's thread; the
// atomic members are read by others.
struct worker_state {
    worker_state(stream_engine& its_engine, int number_in_process)
        : engine(its_engine),
          id{engine.rank(), number_in_process},
          number(static_cast<std::uint32_t>(engine.rank() * layout().num_workers() +
                                            number_in_process)),
          number_at_endpoint(number_in_process) {
        if (!layout().is_node()) return;
        number_at_endpoint += layout().nodes().local_rank(engine.rank()) * layout().num_workers();
    }

    stream_engine& engine;
    worker_id id;
    std::uint32_t number;    // global
    int number_at_endpoint;  // in the group that takes shares of one chunk

    std::uint32_t phase = 0;  // drains that have ended
    bool is_draining = false;
    std::exception_ptr failure;  // the first one of a handler of this worker

    std::atomic<std::int64_t> sent{0};  // items pushed here, in buffers that others can see
    std::int64_t handled = 0;           // or combined on the way
    std::atomic<bool> is_quiet{
        false};  // drains, and nothing has come since it sent the last buffer
    stream_statistics statistics;

    const stream_options& options() const noexcept { return engine.options(); }
    const chunk_memory& memory() const noexcept { return engine.memory(); }
    const chunk_layout& shape() const noexcept { return engine.shape(); }
    const stream_layout& layout() const noexcept { return engine.layout(); }

    // Buffers of all channels are numbered one channel after the other.
    std::size_t num_buffers() const noexcept {
        return layout().buffers().size() * static_cast<std::size_t>(shape().num_channels());
    }
    const stream_layout::buffer_end& end_of(std::size_t index) const noexcept {
        return layout().buffers()[index % layout().buffers().size()];
    }

    // Sets the head of a chunk that a buffer begins in.
    void set_head(const chunk& c, int channel, std::size_t index) const noexcept {
        const stream_layout::buffer_end& end = end_of(index);
        chunk_head& head = c.head();
        head.channel = static_cast<std::uint32_t>(channel);
        head.phase = phase;
        head.stage = static_cast<std::uint32_t>(end.stage);
        head.source = number;
        head.worker = end.worker;
        head.is_grouped = 0;
        head.num_samples.store(0, std::memory_order_relaxed);
    }

    // Before any other thread can see them.
    void count_sent(std::int64_t num_items) noexcept {
        sent.store(sent.load(std::memory_order_relaxed) + num_items, std::memory_order_release);
    }

    // The exception being handled, of a handler, ends the stream.
    void fail() {
        if (!failure) failure = std::current_exception();
        engine.fail(id.rank);
    }
};

}  // namespace crossdock
