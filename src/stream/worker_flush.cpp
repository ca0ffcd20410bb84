// How buffers leave a worker, alone or shared with others, and find room again.
#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "worker_buffers.hpp"

namespace crossdock {

namespace {

constexpr std::align_val_t chunk_alignment{64};

constexpr std::uint64_t fill_of(chunk_ref ref, std::uint32_t units) {
    return (std::uint64_t{ref} << 32) | units;
}
constexpr chunk_ref ref_of(std::uint64_t fill) { return static_cast<chunk_ref>(fill >> 32); }
constexpr std::uint32_t units_of(std::uint64_t fill) { return static_cast<std::uint32_t>(fill); }

}  // namespace

void worker_buffers::aligned_delete::operator()(std::byte* memory) const noexcept {
    ::operator delete(memory, chunk_alignment);
}

// Counted before anybody else can see them.
void worker_buffers::count_sent(std::size_t index) {
    const std::int64_t own = std::int64_t{num_items(index)} - fillings_[index].num_forwarded;
    sent_.store(sent_.load(std::memory_order_relaxed) + own, std::memory_order_release);
}

void worker_buffers::leave(std::size_t index, flush_cause cause) {
    filling& f = fillings_[index];
    give_sample_back(index);
    count_sent(index);
    if (f.kind == filling_kind::staging) {
        deposit(index);
        reset_cursor(index);
        return;
    }
    const chunk c(f.memory, shape());
    c.head().items = num_items(index);
    c.close(fill(index));
    --num_filling_;
    const chunk_ref ref = f.ref;
    const bool is_own = f.kind == filling_kind::own;
    reset_cursor(index);
    if (is_own) {
        --num_open_;
        send(ref, index, cause);
    } else {
        overflow_.push_back({f.memory, index, cause});
        ++statistics_.overflow_buffers;
    }
}

void worker_buffers::send(chunk_ref ref, std::size_t index, flush_cause cause) {
    const chunk c = memory().at(ref);
    const stream_layout::buffer_end& end = end_of(index);
    const bool is_last_hop = end.stage == layout().num_stages();
    const std::uint32_t num_items = c.head().items;
    if (layout().scheme() == stream_scheme::wsp && is_last_hop &&
        layout().group_size(end.endpoint) > 1) {
        if (layout().has_one_hop()) {
            leaving_divider_.divide_here(c, shape());
        } else {
            const auto workers = static_cast<std::uint32_t>(layout().num_workers());
            leaving_divider_.divide(
                c, shape(), [&](std::uint32_t tag) { return tag % workers; },
                [](std::uint32_t, std::span<const std::byte>, std::uint32_t, std::uint32_t) {});
        }
        c.head().is_grouped = 1;
    }
    ++statistics_.messages;
    ++statistics_.messages_by_cause[static_cast<std::size_t>(cause)];
    statistics_.message_items += num_items;
    const std::size_t num_bytes = engine_.hand_over(ref, end.endpoint);
    if (num_bytes > 0) {
        ++statistics_.mpi_messages;
        statistics_.mpi_bytes += static_cast<count_t>(num_bytes);
    }
}

// What is closed beyond the bound leaves as soon as there is a chunk for it.
void worker_buffers::send_waiting() {
    while (!overflow_.empty()) {
        const chunk_ref ref = take_free();
        if (ref == no_chunk) return;
        const waiting_chunk waiting = overflow_.front();
        overflow_.pop_front();
        const chunk from(waiting.memory, shape());
        if (!spilled_.empty()) {
            from.close(from.head().units);
            if (spilled_[waiting.index] == waiting.memory) spilled_[waiting.index] = nullptr;
        }
        const chunk to = memory().at(ref);
        std::memcpy(to.message_room().data(), from.message().data(), from.message().size());
        to.state().missing.store(0, std::memory_order_relaxed);
        send(ref, waiting.index, waiting.cause);
        free_overflow_.push_back(waiting.memory);
    }
}

// How often workers have begun to drain by the end of so many phases.
std::uint64_t worker_buffers::num_drains(std::uint32_t num_phases) const noexcept {
    const int sharing =
        layout().is_node() ? layout().group_size(layout().here()) : layout().num_workers();
    return std::uint64_t{num_phases} * static_cast<std::uint64_t>(sharing);
}

// While others may still fill them, a drain lets shared buffers be: each is to end with one partial
// message, not with one for each worker.
bool worker_buffers::may_close_shared() const noexcept {
    return !is_draining_ ||
           memory().num_draining(engine_.shared_holder()) >= num_drains(phase_ + 1);
}

// Then they leave shared buffers to this worker, which may wait for what is in them.
bool worker_buffers::others_drain() const noexcept {
    return !is_draining_ && fills_together(layout().scheme()) &&
           memory().num_draining(engine_.shared_holder()) > num_drains(phase_);
}

void worker_buffers::leave_shared(flush_cause cause) {
    for (std::size_t i = 0; i < num_cursors(); ++i) close_shared(i, no_chunk, cause);
}

bool worker_buffers::is_up_to_date(const begun_buffer& b) const noexcept {
    return fillings_[b.index].kind != filling_kind::closed && fillings_[b.index].serial == b.serial;
}

bool worker_buffers::is_up_to_date(const begun_shared& b) const noexcept {
    const chunk_ref ref = ref_of(shared(b.index).load(std::memory_order_relaxed));
    return ref == b.filled.ref &&
           memory().at(ref).state().serial.load(std::memory_order_relaxed) == b.filled.serial;
}

void worker_buffers::leave_all(flush_cause cause) {
    leave_urgent();
    for (const begun_buffer& b : begun_) {
        if (is_up_to_date(b)) leave(b.index, cause);
    }
    begun_.clear();
    if (may_close_shared()) {
        for (const begun_shared& b : begun_shared_) {
            if (is_up_to_date(b)) close_shared(b.index, b.filled.ref, cause);
        }
        begun_shared_.clear();
    }
    if (others_drain()) leave_shared(cause);
    send_waiting();
}

void worker_buffers::leave_urgent() {
    for (const std::size_t index : urgent_) {
        fillings_[index].is_urgent = false;
        if (fillings_[index].kind != filling_kind::closed) leave(index, flush_cause::urgent);
        // What was staged may have left before, as many items as there is room for.
        if (fills_together(layout().scheme())) close_shared(index, no_chunk, flush_cause::urgent);
    }
    urgent_.clear();
}

void worker_buffers::leave_old() {
    const std::int64_t limit =
        engine_.now() - static_cast<std::int64_t>(*options().max_age_seconds * 1e9);
    while (!begun_.empty() && (begun_.front().since <= limit || !is_up_to_date(begun_.front()))) {
        const begun_buffer b = begun_.front();
        begun_.pop_front();
        if (!is_up_to_date(b)) continue;
        const bool is_shared = fillings_[b.index].kind == filling_kind::staging;
        leave(b.index, flush_cause::age);
        if (is_shared) close_shared(b.index, no_chunk, flush_cause::age);
    }
    while (!begun_shared_.empty() &&
           (begun_shared_.front().since <= limit || !is_up_to_date(begun_shared_.front()))) {
        const begun_shared b = begun_shared_.front();
        begun_shared_.pop_front();
        if (is_up_to_date(b)) close_shared(b.index, b.filled.ref, flush_cause::age);
    }
}

// The buffer with memory of this worker's that was begun first.
void worker_buffers::leave_oldest() {
    forget_old(begun_);
    forget_old(begun_shared_);
    const auto own = std::find_if(begun_shared_.begin(), begun_shared_.end(),
                                  [](const begun_shared& b) { return b.is_own; });
    if (own != begun_shared_.end()) {
        const begun_shared b = *own;
        begun_shared_.erase(own);
        close_shared(b.index, b.filled.ref, flush_cause::pressure);
    } else if (!begun_.empty() && fillings_[begun_.front().index].kind != filling_kind::staging) {
        const begun_buffer b = begun_.front();
        begun_.pop_front();
        leave(b.index, flush_cause::pressure);
    }
}

void worker_buffers::flush() {
    if (is_closed_) throw error(errc::invalid_state, "flush() of a stream after close()");
    leave_all(flush_cause::request);
    if (!is_inside_) engine_.drive();
}

void worker_buffers::flush(worker_id to) {
    if (is_closed_) throw error(errc::invalid_state, "flush() of a stream after close()");
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        const std::size_t index = index_for(channel, to);
        if (fillings_[index].kind != filling_kind::closed) leave(index, flush_cause::request);
        if (fills_together(layout().scheme())) {
            close_shared(index, no_chunk, flush_cause::request);
        }
    }
    if (!is_inside_) engine_.drive();
}

// The fill of a shared buffer is its chunk and the number of units taken, in one word. Who takes
// units fills them in and says so by adding their number to `missing`; who closes the buffer
// subtracts the total. Whoever finds zero then is the last and sends it.

std::atomic<std::uint64_t>& worker_buffers::shared(std::size_t index) const {
    return memory().shared_buffer(engine_.shared_holder(), static_cast<std::uint32_t>(index));
}

void worker_buffers::deposit(std::size_t index) {
    const std::uint32_t capacity = shape().capacity(channel_of(index));
    const bool has_records = shape().has_records(channel_of(index));
    const std::uint32_t staged = fill(index);
    std::uint32_t done = 0;
    while (done < staged) {
        std::uint64_t known = shared(index).load(std::memory_order_acquire);
        const chunk_ref ref = ref_of(known);
        if (ref == no_chunk) {
            if (!begin_shared(index)) {
                spill(index, done);
                return;
            }
            continue;
        }
        const std::uint32_t taken = units_of(known);
        const std::uint32_t room = capacity - taken;
        if (has_records && room < staged) {
            close_shared(index, ref, flush_cause::full);
            continue;
        }
        const std::uint32_t units = std::min(staged - done, room);
        const bool closes = taken + units == capacity;
        const std::uint64_t next = closes ? 0 : fill_of(ref, taken + units);
        if (!shared(index).compare_exchange_weak(known, next, std::memory_order_acq_rel)) continue;
        if (closes) memory().count_shared(engine_.shared_holder(), -1);
        const chunk c = memory().at(ref);
        copy_staged(index, done, c, taken, units);
        if (!closes) {
            note_shared(index, c);
        } else {
            c.head().units = capacity;
            c.state().cause = static_cast<std::uint32_t>(flush_cause::full);
        }
        done += units;
        commit(ref, index, units - (closes ? capacity : 0));
    }
}

// False if this worker has no chunk to begin it with.
bool worker_buffers::begin_shared(std::size_t index) {
    const chunk_ref ref = find_free() ? take_free() : no_chunk;
    if (ref == no_chunk) return false;
    const chunk c = memory().at(ref);
    begin_chunk(c, index);
    c.state().serial.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t none = 0;
    if (!shared(index).compare_exchange_strong(none, fill_of(ref, 0), std::memory_order_acq_rel)) {
        free_.push_back(ref);  // somebody else was faster
        return true;
    }
    memory().count_shared(engine_.shared_holder(), 1);
    return true;
}

// Each who has items in it sees to it that it leaves: others may be busy with something else.
void worker_buffers::note_shared(std::size_t index, const chunk& c) {
    filling& f = fillings_[index];
    const shared_chunk filled{c.state().self, c.state().serial.load(std::memory_order_relaxed)};
    if (f.filled == filled || shape().channel(channel_of(index)).is_urgent) return;
    f.filled = filled;
    const begun_shared noted{index, filled, f.since, memory().is_of(filled.ref, id_.worker)};
    begun_shared_.insert(
        std::upper_bound(begun_shared_.begin(), begun_shared_.end(), noted,
                         [](const auto& a, const auto& b) { return a.since < b.since; }),
        noted);
    if (begun_shared_.size() > 2 * num_cursors() + 64) forget_old(begun_shared_);
}

void worker_buffers::copy_staged(std::size_t index, std::uint32_t from, const chunk& c,
                                 std::uint32_t at, std::uint32_t units) {
    const filling& f = fillings_[index];
    const int channel = channel_of(index);
    const std::size_t unit = shape().unit_bytes(channel);
    const auto tag_bytes = static_cast<std::size_t>(shape().tag_bytes(channel));
    const std::uint32_t staged = fill(index);
    std::memcpy(c.items() + at * unit, f.memory + from * unit, units * unit);
    if (tag_bytes > 0) {
        const std::byte* const tags = cursors_[index].tags - staged * tag_bytes;
        std::memcpy(c.open_tags() + at * tag_bytes, tags + from * tag_bytes, units * tag_bytes);
    }
    if (shape().source_bytes(channel) > 0) {
        const std::uint32_t* const sources = cursors_[index].sources - staged;
        std::memcpy(c.open_sources() + at, sources + from, units * sizeof(std::uint32_t));
    }
    if (shape().has_records(channel)) c.state().record_items.fetch_add(f.num_records);
    if (f.sample_nanoseconds != 0 && f.staged_sample >= from && f.staged_sample < from + units) {
        c.add_sample(at + f.staged_sample - from, f.sample_nanoseconds);
    }
}

// What is staged goes beyond the bound, with what went there before it and waits as well.
void worker_buffers::spill(std::size_t index, std::uint32_t from) {
    const int channel = channel_of(index);
    const std::uint32_t units = fill(index) - from;
    std::byte*& into = spilled_[index];
    if (into != nullptr) {
        const std::uint32_t taken = chunk(into, shape()).head().units;
        if (shape().capacity(channel) - taken < units) into = nullptr;
    }
    if (into == nullptr) {
        into = take_overflow();
        const chunk begun(into, shape());
        begin_chunk(begun, index);
        begun.head().units = 0;
        begun.head().items = 0;
        overflow_.push_back({into, index, flush_cause::pressure});
        ++statistics_.overflow_buffers;
    }
    const chunk c(into, shape());
    copy_staged(index, from, c, c.head().units, units);
    c.head().units += units;
    c.head().items += shape().has_records(channel) ? fillings_[index].num_records : units;
}

void worker_buffers::close_shared(std::size_t index, chunk_ref expected, flush_cause cause) {
    std::uint64_t known = shared(index).load(std::memory_order_acquire);
    do {
        if (ref_of(known) == no_chunk) return;
        if (expected != no_chunk && ref_of(known) != expected) return;
    } while (!shared(index).compare_exchange_weak(known, 0, std::memory_order_acq_rel));
    memory().count_shared(engine_.shared_holder(), -1);
    const chunk_ref ref = ref_of(known);
    const std::uint32_t taken = units_of(known);
    if (taken == 0) {
        memory().give_back(ref);
        return;
    }
    const chunk c = memory().at(ref);
    c.head().units = taken;
    c.state().cause = static_cast<std::uint32_t>(cause);
    commit(ref, index, 0 - taken);
}

void worker_buffers::commit(chunk_ref ref, std::size_t index, std::uint32_t change) {
    const chunk c = memory().at(ref);
    const std::uint32_t before = c.state().missing.fetch_add(change, std::memory_order_acq_rel);
    if (before + change != 0) return;
    c.close(c.head().units);
    c.head().items = shape().has_records(channel_of(index))
                         ? c.state().record_items.load(std::memory_order_relaxed)
                         : c.head().units;
    send(ref, index, static_cast<flush_cause>(c.state().cause));
}

void worker_buffers::fetch_free() {
    if (free_.empty()) memory().take_free(static_cast<std::uint32_t>(id_.worker), free_);
}

// Whether a chunk is free for what is pushed next: what waits beyond the bound comes first.
bool worker_buffers::find_free() {
    send_waiting();
    fetch_free();
    return !free_.empty() && overflow_.empty();
}

chunk_ref worker_buffers::take_free() {
    fetch_free();
    if (free_.empty()) return no_chunk;
    const chunk_ref ref = free_.back();
    free_.pop_back();
    return ref;
}

std::byte* worker_buffers::take_overflow() {
    if (free_overflow_.empty()) {
        auto* const memory =
            static_cast<std::byte*>(::operator new(shape().stride(), chunk_alignment));
        overflow_memory_.emplace_back(memory);
        const chunk c(memory, shape());
        new (&c.state()) chunk_state{};
        new (&c.head()) chunk_head{};
        free_overflow_.push_back(memory);
    }
    std::byte* const result = free_overflow_.back();
    free_overflow_.pop_back();
    return result;
}

// At rest none of it is in use. What the busiest moment took would otherwise stay until the end.
void worker_buffers::give_overflow_back() noexcept {
    overflow_ = {};
    free_overflow_ = std::vector<std::byte*>();
    overflow_memory_ = decltype(overflow_memory_)();
}

// None of this worker's chunks is on its way.
bool worker_buffers::has_all_open() {
    forget_old(begun_shared_);
    const auto num_shared = std::count_if(begun_shared_.begin(), begun_shared_.end(),
                                          [](const begun_shared& b) { return b.is_own; });
    return num_open_ + static_cast<std::uint32_t>(num_shared) >=
           memory().numbers().chunks_per_worker;
}

// Outside handlers, a push that has sent a buffer takes what came meanwhile, while it is warm in the
// cache, and leaves at least one chunk for the next one to begin.
void worker_buffers::relieve() {
    engine_.drive();
    if (options().pressure == back_pressure::progress && memory().has_arrivals(id_.worker)) {
        receive_all();
    }
    const bool never_waits =
        std::exchange(is_promised_, false) || options().pressure == back_pressure::fail;
    if (find_free()) return;
    if (has_all_open()) leave_oldest();
    if (never_waits) return;
    ++statistics_.waits;
    keeps_ = options().pressure == back_pressure::block;
    while (!find_free() && !engine_.has_failed()) {
        const count_t num_handled = receive_all();
        leave_urgent();
        engine_.drive_in(++num_turns_);
        if (num_handled == 0 && !find_free()) {
            if (has_all_open()) leave_oldest();
            std::this_thread::yield();
        }
    }
    keeps_ = false;
}

}  // namespace crossdock
