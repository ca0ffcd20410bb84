// What a worker does when a push is not just a store, and when it makes progress.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "crossdock/detail/stream/stream_worker.hpp"
#include "filling_buffers.hpp"
#include "line_allocator.hpp"
#include "stream_delivery.hpp"
#include "worker_state.hpp"

namespace crossdock {

// Coordinates the two sides of a worker: the `filling_buffers` of what it pushes and the `stream_delivery`
// of what comes. Decides when a push may begin a buffer, waits, or is refused, and takes part in
// drains. `stream_worker` has the table of its states.
//
// Invariant: inside a handler a push is never refused and never waits. Outside, pushes are refused
// unless the worker is open; and a push that has sent a buffer waits until a chunk is free, so that
// the next one can begin (but for `back_pressure::fail`).
class alignas(line_pair_bytes) worker_buffers final : public stream_worker {
  public:
    worker_buffers(stream_engine& engine, int number);

    worker_id id() const noexcept override { return state_.id; }

    void push_record(int channel, worker_id to, const std::byte* item,
                     std::size_t num_bytes) override;
    bool has_room(int channel, worker_id to) override;

    count_t progress() override;
    void flush() override;
    void flush(worker_id to) override;
    void set_buffer_items(worker_id to, count_t num_items) override;

    void start_drain() override;
    bool test_drain() override;
    bool is_draining() const noexcept override { return state_.is_draining; }
    void close() noexcept;

    stream_statistics statistics() const override;

    // For other threads: items that have left this worker, and items handled here, as of a moment
    // when all that their handlers pushed had left, too.
    std::int64_t sent() const noexcept { return state_.sent.load(std::memory_order_acquire); }
    std::int64_t published_handled() const noexcept {
        return published_handled_.load(std::memory_order_acquire);
    }
    bool is_quiet() const noexcept { return state_.is_quiet.load(std::memory_order_relaxed); }
    bool is_at_rest() const noexcept;

  private:
    // The rest of a push: the item lies where the cursor was.
    void after_push(stream_cursor& open) override;
    const stream_options& options() const noexcept { return state_.options(); }
    const chunk_layout& shape() const noexcept { return state_.shape(); }
    bool shares_buffers() const noexcept { return fills_together(state_.layout().scheme()); }
    bool has_arrivals() const noexcept { return state_.memory().has_arrivals(state_.id.worker); }

    void require_open() const;
    void require_room();
    bool finds_room(std::size_t index);
    void relieve();
    void wait_for_room();

    count_t receive_all();
    count_t handle_kept();
    void begin_inside() noexcept;
    void end_inside() noexcept;
    void when_idle();
    void progress_other_drains();
    count_t peak_buffers() const noexcept;

    worker_state state_;
    filling_buffers filling_buffers_;
    stream_delivery delivery_;

    unsigned num_turns_ = 0;    // calls of `drive_for_worker`
    bool is_inside_ = false;    // pushes come from handlers
    bool is_promised_ = false;  // `has_room` has said that the next push does not wait
    bool is_closed_ = false;
    std::shared_ptr<worker_buffers*> own_drain_;  // there while draining
    bool has_ended_ = false;                      // by a failure
    std::int64_t sent_before_ = 0;  // items that had left by the end of the last drain
    std::atomic<std::int64_t> published_handled_{0};
};

}  // namespace crossdock
