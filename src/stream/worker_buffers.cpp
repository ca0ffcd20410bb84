#include "worker_buffers.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "../base/watchdog.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

// The workers whose drains this thread has begun, and that have not ended.
thread_local std::vector<std::weak_ptr<worker_buffers*>> drains_of_thread;

}  // namespace

stream_worker::~stream_worker() = default;

void stream_worker::refuse(worker_id to) const {
    throw error(
        errc::rank_out_of_range,
        fmt::format("there is no worker {} on rank {}: workers are in [0, {}), ranks in [0, {})",
                    to.worker, to.rank, push_.last_worker + 1, push_.num_ranks),
        to.rank);
}

void stream_worker::put_tag(stream_cursor& open, std::uint32_t tag, std::uint32_t source) {
    crossdock::put_tag(open, push_.tag_bytes, push_.keeps_sources, tag, source);
}

worker_buffers::worker_buffers(stream_engine& engine, int number)
    : state_(engine, number),
      filling_buffers_(state_, *this),
      delivery_(state_, *this, filling_buffers_) {}

// --------------------------------------------------------------------------- pushes

void worker_buffers::after_push(stream_cursor& open) {
    if (filling_buffers_.cursors().is_refusing()) {
        filling_buffers_.cursors().reset_refused(open);
        require_open();
    }
    const std::size_t index = filling_buffers_.cursors().index_of(open);
    const source_buffer& buffer = filling_buffers_[index];
    if (buffer.is_closed()) {
        open = filling_buffers_.cursors().closed(buffer.channel());
        if (!is_inside_) require_room();
        filling_buffers_.begin_with_written(index);
    }
    const bool is_overflow = buffer.is_overflow();
    const bool has_left = filling_buffers_.finish_push(index);
    if (!is_inside_ && (has_left || is_overflow)) relieve();
}

void worker_buffers::push_record(int channel, worker_id to, const std::byte* item,
                                 std::size_t num_bytes) {
    const endpoint_in_buffer at = locate(channel, to);
    const auto index = static_cast<std::size_t>(at.open - push_.cursors);
    const std::uint32_t capacity = shape().capacity(filling_buffers_[index].channel());
    if (stream_record::room(num_bytes) > capacity) {
        throw error(errc::size_mismatch,
                    fmt::format("an item of {} bytes does not fit into a buffer of {}, {} of which "
                                "are taken up by each item itself",
                                num_bytes, capacity, sizeof(stream_record)));
    }
    if (!is_inside_) {
        require_open();
        if (filling_buffers_[index].is_closed()) require_room();
    }
    const bool has_changed = filling_buffers_.push_record(index, at.tag(), {item, num_bytes});
    if (!is_inside_ && has_changed) relieve();
}

void worker_buffers::require_open() const {
    if (is_closed_)
        throw error(errc::invalid_state,
                    "a push to a stream after close(); push before it, or make another stream");
    if (has_ended_ || state_.engine.has_failed()) {
        throw error(errc::handler_failed,
                    fmt::format("the stream has ended: a handler of rank {} has thrown",
                                state_.engine.failed_rank()),
                    state_.engine.failed_rank());
    }
    if (is_draining())
        throw error(errc::invalid_state,
                    "a push to a stream after drain(), when only handlers push; wait for the end "
                    "of the drain");
}

// Before a push outside handlers takes memory for another buffer.
void worker_buffers::require_room() {
    require_open();
    if (options().pressure != back_pressure::fail || filling_buffers_.find_free()) return;
    throw error(errc::invalid_state,
                fmt::format("all {} buffers of worker {} are in use; call progress() and push "
                            "again, or raise max_buffers",
                            state_.memory().numbers().chunks_per_worker, id().worker),
                id().rank);
}

bool worker_buffers::has_room(int channel, worker_id to) {
    const stream_cursor* const open = locate(channel, to).open;
    if (is_closed_) require_open();
    is_promised_ = finds_room(static_cast<std::size_t>(open - push_.cursors));
    return is_promised_;
}

bool worker_buffers::finds_room(std::size_t index) {
    if (is_inside_ || filling_buffers_.find_free()) return true;
    if (options().pressure == back_pressure::fail && !filling_buffers_[index].is_closed())
        return true;
    filling_buffers_.leave_oldest();
    state_.engine.drive_for_worker();
    return filling_buffers_.find_free();
}

// After a push outside handlers has sent a buffer: handles what came meanwhile, while it is in the
// cache, and sees to it that a chunk is free for the next push to begin.
void worker_buffers::relieve() {
    state_.engine.drive_for_worker();
    if (options().pressure == back_pressure::progress && has_arrivals()) receive_all();
    const bool never_waits =
        std::exchange(is_promised_, false) || options().pressure == back_pressure::fail;
    if (filling_buffers_.find_free()) return;
    if (filling_buffers_.has_all_open()) filling_buffers_.leave_oldest();
    if (!never_waits) wait_for_room();
}

void worker_buffers::wait_for_room() {
    ++state_.statistics.waits;
    // A pause may throw.
    struct keeping {
        explicit keeping(stream_delivery& d, bool keeps) : delivery(d) {
            delivery.set_keeping(keeps);
        }
        ~keeping() { delivery.set_keeping(false); }
        stream_delivery& delivery;
    };
    const keeping arrivals(delivery_, options().pressure == back_pressure::block);
    while (!filling_buffers_.find_free() && !state_.engine.has_failed()) {
        const count_t num_handled = receive_all();
        filling_buffers_.leave_urgent();
        state_.engine.drive_for_worker(++num_turns_);
        if (num_handled == 0 && !filling_buffers_.find_free()) {
            if (filling_buffers_.has_all_open()) filling_buffers_.leave_oldest();
            pause_wait();
        }
    }
}

void worker_buffers::set_buffer_items(worker_id to, count_t num_items) {
    locate(0, to);
    if (is_closed_) require_open();
    if (shares_buffers()) {
        throw error(errc::invalid_argument,
                    fmt::format("the size of a buffer that several workers fill (scheme {})",
                                to_string(state_.layout().scheme())));
    }
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        const std::uint32_t capacity = shape().capacity(channel);
        if (shape().has_records(channel)) {
            throw error(errc::invalid_argument,
                        "items of any size have no fixed number in a buffer; leave the size of "
                        "this buffer alone");
        }
        if (num_items < 1 || num_items > count_t{capacity}) {
            throw error(
                errc::invalid_argument,
                fmt::format("a buffer of {} items; there must be 1 to {}", num_items, capacity));
        }
    }
    flush(to);
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        const std::size_t index = filling_buffers_.cursors().index_for(channel, to);
        filling_buffers_[index].set_limit(static_cast<std::uint32_t>(num_items));
    }
}

// --------------------------------------------------------------------------- progress

// From here on pushes come from handlers, which may push during a drain.
void worker_buffers::begin_inside() noexcept {
    is_inside_ = true;
    filling_buffers_.cursors().set_refusing(false);
}

void worker_buffers::end_inside() noexcept {
    is_inside_ = false;
    filling_buffers_.cursors().set_refusing(is_draining() || has_ended_ || is_closed_);
}

count_t worker_buffers::receive_all() {
    begin_inside();
    const count_t count = delivery_.receive_all();
    end_inside();
    return count;
}

count_t worker_buffers::handle_kept() {
    if (!delivery_.has_kept()) return 0;
    begin_inside();
    const count_t count = delivery_.handle_kept();
    end_inside();
    return count;
}

count_t worker_buffers::progress() {
    if (is_inside_)
        throw error(errc::invalid_state,
                    "progress() of a stream inside a handler; return from it first");
    if (is_closed_)
        throw error(errc::invalid_state,
                    "progress() of a stream after close(); make another stream");
    const count_t count = handle_kept() + receive_all();
    filling_buffers_.leave_urgent();
    filling_buffers_.send_waiting();
    if (options().max_age_seconds) {
        filling_buffers_.leave_old(state_.engine.now() -
                                   static_cast<std::int64_t>(*options().max_age_seconds * 1e9));
    }
    state_.engine.drive_for_worker(++num_turns_);
    if (count == 0 && !has_arrivals()) when_idle();
    return count;
}

void worker_buffers::when_idle() {
    if (options().flush_on_idle || is_draining()) {
        const count_t before = state_.statistics.messages;
        filling_buffers_.leave_all(is_draining() ? flush_cause::drain : flush_cause::idle);
        if (state_.statistics.messages != before) state_.engine.drive_for_worker();
    }
    if (is_draining() && !filling_buffers_.has_waiting()) {
        published_handled_.store(state_.handled, std::memory_order_release);
        state_.is_quiet.store(true, std::memory_order_relaxed);
    }
}

void worker_buffers::flush() {
    if (is_closed_)
        throw error(errc::invalid_state, "flush() of a stream after close(); flush before it");
    filling_buffers_.leave_all(flush_cause::request);
    if (!is_inside_) state_.engine.drive_for_worker();
}

void worker_buffers::flush(worker_id to) {
    locate(0, to);
    if (is_closed_)
        throw error(errc::invalid_state, "flush() of a stream after close(); flush before it");
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        filling_buffers_.leave_with_shared(filling_buffers_.cursors().index_for(channel, to),
                                           flush_cause::request);
    }
    if (!is_inside_) state_.engine.drive_for_worker();
}

// --------------------------------------------------------------------------- drains

void worker_buffers::start_drain() {
    if (is_inside_)
        throw error(errc::invalid_state,
                    "drain() of a stream inside a handler; return from it first");
    if (is_closed_)
        throw error(errc::invalid_state, "drain() of a stream after close(); drain before it");
    if (is_draining())
        throw error(
            errc::invalid_state,
            "drain() of a stream that drains already; wait for the end of that drain first");
    if (has_ended_) require_open();
    std::erase_if(drains_of_thread, [](const auto& one) { return one.expired(); });
    own_drain_ = with_reserve([&] { return std::make_shared<worker_buffers*>(this); });
    append_with_reserve(drains_of_thread, own_drain_);
    watchdog::note_wait();
    state_.is_draining = true;
    filling_buffers_.cursors().set_refusing(true);
    filling_buffers_.leave_all(flush_cause::drain);
    state_.memory().add_draining(state_.engine.shared_holder());
    state_.is_quiet.store(false, std::memory_order_relaxed);
    state_.engine.add_draining();
}

bool worker_buffers::test_drain() {
    if (has_ended_) require_open();
    if (!is_draining())
        throw error(errc::invalid_state,
                    "the drain of a stream has ended already; start another one");
    if (state_.engine.num_phases() == state_.phase && progress() > 0) watchdog::note_wait();
    if (state_.engine.num_phases() == state_.phase) {
        progress_other_drains();
        const watched_wait now("draining a stream", &any_leavable_wait);
        watchdog::look();
        return false;
    }
    ++state_.phase;
    state_.is_draining = false;
    own_drain_.reset();
    sent_before_ = sent();
    if (state_.engine.has_ended()) {
        has_ended_ = true;  // and refuses pushes from now on
        if (state_.failure) std::rethrow_exception(state_.failure);
        require_open();
    }
    filling_buffers_.free_overflow();
    filling_buffers_.cursors().set_refusing(false);
    return true;
}

// Others may wait for those first. A handler that runs here may begin a drain of another stream.
void worker_buffers::progress_other_drains() {
    for (std::size_t i = 0; i < drains_of_thread.size(); ++i) {
        const auto one = drains_of_thread[i].lock();
        if (!one || *one == this) continue;
        auto& other = **one;
        if (!other.is_inside_ && other.state_.engine.num_phases() == other.state_.phase)
            other.progress();
    }
}

void worker_buffers::close() noexcept {
    state_.statistics.peak_buffers = peak_buffers();  // while the shared memory exists
    is_closed_ = true;
    filling_buffers_.cursors().set_refusing(true);
}

bool worker_buffers::is_at_rest() const noexcept {
    return !is_draining() && sent() == sent_before_ && !delivery_.has_later() &&
           filling_buffers_.is_empty();
}

stream_statistics worker_buffers::statistics() const {
    stream_statistics result = state_.statistics;
    result.items = state_.sent.load(std::memory_order_relaxed) + filling_buffers_.num_combined() +
                   filling_buffers_.num_unsent();
    result.combined += filling_buffers_.num_combined();
    result.peak_buffers = peak_buffers();
    return result;
}

count_t worker_buffers::peak_buffers() const noexcept {
    // Shared buffers are counted once: by the first worker of the process that keeps their words.
    const chunk_memory& memory = state_.memory();
    const int holder = state_.engine.shared_holder();
    const bool counts_shared = shares_buffers() && id().worker == 0 && memory.here() == holder;
    return counts_shared && !is_closed_ ? memory.peak_shared(holder)
                                        : state_.statistics.peak_buffers;
}

}  // namespace crossdock
