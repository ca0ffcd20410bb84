#include "shared_filler.hpp"

namespace crossdock {

shared_filler::shared_filler(worker_state& state, chunk_pool& pool, chunk_sender& sender)
    : state_(state), pool_(pool), sender_(sender), entries_(2 * state.num_buffers() + 64) {
    for (int c = 0; c < state.shape().num_channels(); ++c) {
        known_.resize(known_.size() + state.layout().buffers().size(), {c, {}});
    }
}

shared_buffer shared_filler::at(std::size_t index) const noexcept {
    return {state_.memory(), state_.engine.shared_holder(), static_cast<std::uint32_t>(index),
            state_.shape().capacity(known_[index].channel)};
}

bool shared_filler::is_stale(const entry& e) const noexcept {
    const chunk_ref ref = at(e.index).current();
    if (ref != e.filled.ref) return true;
    const chunk_state& state = state_.memory().at(ref).state();
    return state.serial.load(std::memory_order_relaxed) != e.filled.serial;
}

void shared_filler::deposit(std::size_t index, const source_buffer& staged, std::int64_t since) {
    const shared_buffer buffer = at(index);
    const std::uint32_t units = staged.fill();
    const bool has_records = state_.shape().has_records(staged.channel());
    for (std::uint32_t done = 0; done < units;) {
        const shared_buffer::room room = buffer.take(units - done, has_records);
        if (room.ref == no_chunk) {
            if (open(index, buffer)) continue;
            spill(index, staged, done);
            return;
        }
        if (room.units == 0) {
            close(index, room.ref, flush_cause::full);
            continue;
        }
        staged.copy_staged(done, room.units, state_.memory().at(room.ref), room.first);
        done += room.units;
        if (!room.is_last) note(index, room.ref, since);
        send_if(buffer.fill_in(room, has_records ? staged.num_items() : 0), index, buffer);
    }
}

// False if this worker has no chunk to open it with.
bool shared_filler::open(std::size_t index, const shared_buffer& buffer) {
    const chunk_ref ref = sender_.find_free() ? pool_.take() : no_chunk;
    if (ref == no_chunk) return false;
    state_.set_head(state_.memory().at(ref), known_[index].channel, index);
    if (!buffer.open(ref)) pool_.put_back(ref);
    return true;
}

void shared_filler::close(std::size_t index, chunk_ref expected, flush_cause cause) {
    const shared_buffer buffer = at(index);
    send_if(buffer.close(expected, cause), index, buffer);
}

void shared_filler::send_if(chunk_ref ref, std::size_t index, const shared_buffer& buffer) {
    if (ref != no_chunk) sender_.send(ref, index, buffer.cause_of(ref));
}

// Called before `fill_in`: until then the chunk cannot be sent and become another buffer.
void shared_filler::note(std::size_t index, chunk_ref ref, std::int64_t since) {
    const chunk_state& chunk = state_.memory().at(ref).state();
    const opening filled{ref, chunk.serial.load(std::memory_order_relaxed)};
    opening& last = known_[index].last;
    if (last == filled || state_.shape().channel(known_[index].channel).is_urgent) return;
    last = filled;
    entries_.add({index, filled, since, state_.memory().is_of(ref, state_.id.worker)}, stale());
}

// Adds what is staged to what waits already for the same buffer, if there is room.
void shared_filler::spill(std::size_t index, const source_buffer& staged, std::uint32_t from) {
    const chunk_layout& shape = state_.shape();
    const int channel = staged.channel();
    const std::uint32_t units = staged.fill() - from;
    std::byte* into = pool_.last_waiting(index);
    if (into == nullptr || shape.capacity(channel) - chunk(into, shape).head().units < units) {
        into = pool_.take_overflow();
        const chunk begun(into, shape);
        state_.set_head(begun, channel, index);
        begun.head().units = 0;
        begun.head().items = 0;
        pool_.wait({into, index, flush_cause::pressure});
        ++state_.statistics.overflow_buffers;
    }
    const chunk c(into, shape);
    staged.copy_staged(from, units, c, c.head().units);
    c.head().units += units;
    c.head().items += shape.has_records(channel) ? staged.num_items() : units;
}

// How often the workers that share these buffers have begun to drain by the end of so many phases.
std::uint64_t shared_filler::num_drains(std::uint32_t num_phases) const noexcept {
    const stream_layout& layout = state_.layout();
    const int sharing = layout.is_node() ? layout.group_size(layout.here()) : layout.num_workers();
    return std::uint64_t{num_phases} * static_cast<std::uint64_t>(sharing);
}

// While others may still fill them, a worker that drains lets shared buffers be: each is to end
// with one partial message, not with one for each worker.
bool shared_filler::may_close() const noexcept {
    return !state_.is_draining || state_.memory().num_draining(state_.engine.shared_holder()) >=
                                      num_drains(state_.phase + 1);
}

// Workers that drain leave the shared buffers to one that does not, which may wait for an answer to
// what is in them.
bool shared_filler::others_drain() const noexcept {
    return !state_.is_draining &&
           state_.memory().num_draining(state_.engine.shared_holder()) > num_drains(state_.phase);
}

void shared_filler::close_all(flush_cause cause) {
    if (may_close()) {
        while (const auto e = entries_.take(stale())) {
            close(e->index, e->filled.ref, cause);
        }
    }
    if (others_drain()) {
        for (std::size_t i = 0; i < known_.size(); ++i) close(i, cause);
    }
}

void shared_filler::close_old(std::int64_t limit) {
    while (const auto e = entries_.take_until(limit, stale())) {
        close(e->index, e->filled.ref, flush_cause::age);
    }
}

void shared_filler::close_oldest() {
    const auto oldest = entries_.take_if([](const entry& e) { return e.is_own; }, stale());
    if (oldest) close(oldest->index, oldest->filled.ref, flush_cause::pressure);
}

std::size_t shared_filler::num_own_open() {
    return entries_.count_if([](const entry& e) { return e.is_own; }, stale());
}

}  // namespace crossdock
