#include "crossdock/detail/stream/stream_worker.hpp"

#include <fmt/format.h>

#include "stream_engine.hpp"
#include "worker_buffers.hpp"

namespace crossdock {

stream_worker::stream_worker(stream_engine& engine, int worker)
    : buffers_(std::make_unique<worker_buffers>(engine, *this, worker)) {}

stream_worker::~stream_worker() = default;

worker_id stream_worker::id() const noexcept { return buffers_->id(); }

void stream_worker::refuse(worker_id to) const {
    throw error(
        errc::rank_out_of_range,
        fmt::format("there is no worker {} on rank {}: workers are in [0, {}), ranks in [0, {})",
                    to.worker, to.rank, push_.last_worker + 1, push_.num_ranks),
        to.rank);
}

void stream_worker::after_push(stream_cursor& open) { buffers_->after_push(open); }

void stream_worker::put_tag(stream_cursor& open, std::uint32_t tag, std::uint32_t source) {
    crossdock::put_tag(open, push_.tag_bytes, push_.keeps_sources, tag, source);
}

void stream_worker::push_record(int channel, worker_id to, const std::byte* item,
                                std::size_t num_bytes) {
    const endpoint_in_buffer at = locate(channel, to);
    buffers_->push_record(static_cast<std::size_t>(at.open - push_.cursors), at.tag(),
                          {item, num_bytes});
}

bool stream_worker::has_room(int channel, worker_id to) {
    return buffers_->has_room(static_cast<std::size_t>(locate(channel, to).open - push_.cursors));
}

count_t stream_worker::progress() { return buffers_->progress(); }

void stream_worker::flush() { buffers_->flush(); }

void stream_worker::flush(worker_id to) {
    locate(0, to);
    buffers_->flush(to);
}

void stream_worker::set_buffer_items(worker_id to, count_t num_items) {
    locate(0, to);
    buffers_->set_buffer_items(to, num_items);
}

void stream_worker::start_drain() { buffers_->start_drain(); }

bool stream_worker::test_drain() { return buffers_->test_drain(); }

bool stream_worker::is_draining() const noexcept { return buffers_->is_draining(); }

stream_statistics stream_worker::statistics() const { return buffers_->statistics(); }

}  // namespace crossdock
