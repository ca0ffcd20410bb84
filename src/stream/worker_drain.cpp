// What a worker does in turn, and how it comes to rest.
#include <algorithm>

#include "worker_buffers.hpp"

namespace crossdock {

count_t worker_buffers::progress() {
    if (is_inside_) throw error(errc::invalid_state, "progress() of a stream inside a handler");
    if (is_closed_) throw error(errc::invalid_state, "progress() of a stream after close()");
    const count_t count = handle_kept() + receive_all();
    leave_urgent();
    send_waiting();
    if (options().max_age_seconds) leave_old();
    engine_.drive_in(++num_turns_);
    if (count == 0 && !memory().has_arrivals(id_.worker)) when_idle();
    return count;
}

void worker_buffers::when_idle() {
    if (options().flush_on_idle || is_draining_) {
        const count_t before = statistics_.messages;
        leave_all(is_draining_ ? flush_cause::drain : flush_cause::idle);
        if (statistics_.messages != before) engine_.drive();
    }
    if (is_draining_ && overflow_.empty()) {
        published_handled_.store(handled_, std::memory_order_release);
        is_quiet_.store(true, std::memory_order_relaxed);
    }
}

void worker_buffers::start_drain() {
    if (is_inside_) throw error(errc::invalid_state, "drain() of a stream inside a handler");
    if (is_closed_) throw error(errc::invalid_state, "drain() of a stream after close()");
    if (is_draining_) throw error(errc::invalid_state, "drain() of a stream that drains already");
    if (has_ended_) require_open();
    is_draining_ = true;
    set_refusing(true);
    leave_all(flush_cause::drain);
    memory().add_draining(engine_.shared_holder());
    is_quiet_.store(false, std::memory_order_relaxed);
    engine_.add_draining();
}

bool worker_buffers::test_drain() {
    if (has_ended_) require_open();
    if (!is_draining_) throw error(errc::invalid_state, "the drain of a stream has ended already");
    if (engine_.num_phases() == phase_) progress();
    if (engine_.num_phases() == phase_) return false;
    ++phase_;
    is_draining_ = false;
    sent_before_ = sent();
    if (engine_.has_ended()) {
        has_ended_ = true;  // and refuses pushes from now on
        if (failure_) std::rethrow_exception(failure_);
        require_open();
    }
    give_overflow_back();
    set_refusing(false);
    return true;
}

void worker_buffers::close() noexcept {
    statistics_.peak_buffers = peak_buffers();  // which lies in memory that goes
    is_closed_ = true;
    set_refusing(true);
}

bool worker_buffers::is_at_rest() const noexcept {
    return !is_draining_ && sent() == sent_before_ && later_.empty() &&
           std::all_of(fillings_.begin(), fillings_.end(),
                       [](const filling& f) { return f.kind == filling_kind::closed; });
}

stream_statistics worker_buffers::statistics() const {
    stream_statistics result = statistics_;
    result.items = sent_.load(std::memory_order_relaxed) + push_.num_combined;
    for (std::size_t i = 0; i < num_cursors(); ++i) {
        if (fillings_[i].kind == filling_kind::closed) continue;
        result.items += std::int64_t{num_items(i)} - fillings_[i].num_forwarded;
    }
    result.combined += push_.num_combined;
    result.peak_buffers = peak_buffers();
    return result;
}

count_t worker_buffers::peak_buffers() const noexcept {
    // Shared buffers are counted once, where their fill is kept.
    const bool counts_shared = fills_together(layout().scheme()) && id_.worker == 0 &&
                               memory().here() == engine_.shared_holder();
    return counts_shared && !is_closed_ ? memory().peak_shared(engine_.shared_holder())
                                        : statistics_.peak_buffers;
}

}  // namespace crossdock
