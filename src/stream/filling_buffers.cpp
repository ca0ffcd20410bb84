#include "filling_buffers.hpp"

#include <algorithm>
#include <cstring>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

filling_buffers::filling_buffers(worker_state& state, stream_worker& worker)
    : state_(state),
      worker_(worker),
      cursors_(worker.push_, state.layout(), state.shape(), state.number),
      pool_(state.memory(), state.id.worker),
      sender_(state, pool_),
      sampler_(state.options().latency_sample_interval),
      begun_(2 * cursors_.size() + 64) {
    buffers_.reserve(cursors_.size());
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
        const int channel = cursors_.channel_of(i);
        buffers_.push_back({{state.shape(), channel, cursors_[i], cursors_.closed(channel)}});
    }
    if (!fills_together(state.layout().scheme())) return;
    shared_.emplace(state, pool_, sender_);
    for (int c = 0; c < state.shape().num_channels(); ++c) {
        const std::size_t bytes = source_buffer::staging_bytes(state.shape(), c);
        staging_stride_ = std::max(staging_stride_, (bytes + 63) / 64 * 64);
    }
    staging_.resize(staging_stride_ * cursors_.size());
}

// Never waits: if no chunk is free, the buffer begins in memory beyond the bound.
void filling_buffers::begin(std::size_t index) {
    source_buffer& buffer = buffers_[index].buffer;
    if (shared_) {
        buffer.begin_staging(staging_.data() + index * staging_stride_);
    } else {
        begin_chunk(index, buffer);
    }
    const stream_cursor& open = buffer.cursor();
    cursors_.set_waiting(index, open.next, open.tags);
    buffer.plan_sample(sampler_);
    enlist(index);
}

void filling_buffers::begin_chunk(std::size_t index, source_buffer& buffer) {
    const chunk_ref ref = find_free() ? pool_.take() : no_chunk;
    const chunk c =
        ref != no_chunk ? state_.memory().at(ref) : chunk(pool_.take_overflow(), state_.shape());
    state_.set_head(c, buffer.channel(), index);
    buffer.begin(c, ref);
    if (ref != no_chunk) ++num_own_open_;
    state_.statistics.peak_buffers = std::max(state_.statistics.peak_buffers, ++num_filling_);
}

void filling_buffers::enlist(std::size_t index) {
    slot& s = buffers_[index];
    s.serial = ++serial_;
    if (state_.shape().channel(s.buffer.channel()).is_urgent) {
        if (!s.is_listed) append_with_reserve(urgent_, index);
        s.is_listed = true;
    } else {
        s.since = state_.options().max_age_seconds ? state_.engine.now() : 0;
        begun_.add({index, s.serial, s.since}, stale());
    }
}

void filling_buffers::begin_with_written(std::size_t index) {
    const int channel = buffers_[index].buffer.channel();
    const bool combines = state_.shape().channel(channel).combines;
    const std::byte* const item = cursors_.written_item();
    const std::uint32_t tag = cursors_.written_tag();
    // If this throws, nothing has been pushed.
    const std::uint64_t key = combines ? state_.engine.sink().key(item) : 0;
    begin(index);
    stream_cursor& open = cursors_[index];
    const std::size_t item_bytes = state_.shape().item_bytes(channel);
    std::memcpy(open.next, item, item_bytes);
    worker_.put_tag(open, tag, state_.number);
    if (combines) worker_.position_slot(cursors_.waiting(index), key, tag) = 0;
    open.next += item_bytes;
}

bool filling_buffers::finish_push(std::size_t index) {
    source_buffer& buffer = buffers_[index].buffer;
    if (buffer.is_at_sample()) buffer.take_sample(state_.engine.now());
    if (!buffer.is_full()) return false;
    leave(index, flush_cause::full);
    return true;
}

bool filling_buffers::push_record(std::size_t index, std::uint32_t tag,
                                  std::span<const std::byte> item) {
    const std::int64_t pushed = sampler_.is_next() ? state_.engine.now() : 0;
    return append_record(index, {item, tag, state_.number, pushed}, false);
}

bool filling_buffers::append_record(std::size_t index, const forwarded_item& item,
                                    bool is_forwarded) {
    source_buffer& buffer = buffers_[index].buffer;
    if (!buffer.is_closed() && !buffer.has_room_for(stream_record::room(item.bytes.size()))) {
        leave(index, flush_cause::full);
    }
    const bool begins = buffer.is_closed();
    if (begins) begin(index);
    buffer.append_record(item, is_forwarded);
    const bool leaves = !buffer.has_room_for(sizeof(stream_record));
    if (leaves) leave(index, flush_cause::full);
    return begins || leaves;
}

void filling_buffers::forward(int channel, int stage, int endpoint, const forwarded_item& item) {
    const stream_layout& layout = state_.layout();
    const int worker =
        layout.is_per_worker() ? static_cast<int>(item.tag) % layout.num_workers() : 0;
    const std::size_t index = static_cast<std::size_t>(channel) * layout.buffers().size() +
                              layout.buffer_on_the_way(stage, endpoint) +
                              static_cast<std::size_t>(worker);
    ++state_.statistics.forwarded;
    if (state_.shape().has_records(channel)) {
        append_record(index, item, true);
    } else {
        append_forwarded(index, item);
    }
}

void filling_buffers::append_forwarded(std::size_t index, const forwarded_item& item) {
    source_buffer& buffer = buffers_[index].buffer;
    if (buffer.is_closed()) begin(index);
    if (state_.shape().channel(buffer.channel()).combines && combine_forwarded(index, item)) return;
    buffer.append(item);
    if (!buffer.is_full()) return;
    if (buffer.is_at_sample()) buffer.postpone_sample(sampler_);
    if (buffer.is_full()) leave(index, flush_cause::full);
}

bool filling_buffers::combine_forwarded(std::size_t index, const forwarded_item& item) {
    const stream_sink& sink = state_.engine.sink();
    const auto key_of = [&](const std::byte* waiting) { return sink.key(waiting); };
    const auto into = [&](std::byte* waiting) { sink.combine(waiting, item.bytes.data()); };
    const std::int64_t pushed_and_combined = worker_.push_.num_combined;
    try {
        const stream_layout::target tag{0, item.tag};
        if (!worker_.combine_waiting({&cursors_[index], &tag, 0}, item.bytes.size(),
                                     sink.key(item.bytes.data()), key_of, into)) {
            return false;
        }
    } catch (...) {
        state_.fail();  // but forward the item: termination counts on it
        return false;
    }
    worker_.push_.num_combined = pushed_and_combined;
    ++state_.statistics.combined;
    ++state_.handled;
    return true;
}

void filling_buffers::leave(std::size_t index, flush_cause cause) {
    source_buffer& buffer = buffers_[index].buffer;
    buffer.correct(sampler_);
    state_.count_sent(buffer.num_pushed());
    if (shared_) {
        shared_->deposit(index, buffer, buffers_[index].since);
    } else {
        send(index, buffer, cause);
    }
    buffer.reset();
    cursors_.set_waiting(index, nullptr, nullptr);
}

void filling_buffers::send(std::size_t index, const source_buffer& buffer, flush_cause cause) {
    const chunk c = buffer.contents();
    c.head().items = buffer.num_items();
    c.close(buffer.fill());
    --num_filling_;
    if (buffer.is_overflow()) {
        pool_.wait({buffer.memory(), index, cause});
        ++state_.statistics.overflow_buffers;
    } else {
        --num_own_open_;
        sender_.send(buffer.ref(), index, cause);
    }
}

// Even if nothing is staged, earlier items may be in the shared buffer.
void filling_buffers::leave_with_shared(std::size_t index, flush_cause cause) {
    if (!buffers_[index].buffer.is_closed()) leave(index, cause);
    if (shared_) shared_->close(index, cause);
}

void filling_buffers::leave_all(flush_cause cause) {
    leave_urgent();
    while (const auto e = begun_.take(stale())) {
        leave(e->index, cause);
    }
    if (shared_) shared_->close_all(cause);
    send_waiting();
}

void filling_buffers::leave_urgent() {
    for (const std::size_t index : urgent_) {
        buffers_[index].is_listed = false;
        leave_with_shared(index, flush_cause::urgent);
    }
    urgent_.clear();
}

void filling_buffers::leave_old(std::int64_t limit) {
    while (const auto e = begun_.take_until(limit, stale())) {
        leave_with_shared(e->index, flush_cause::age);
    }
    if (shared_) shared_->close_old(limit);
}

void filling_buffers::leave_oldest() {
    if (shared_) {
        shared_->close_oldest();
    } else if (const auto e = begun_.take(stale())) {
        leave(e->index, flush_cause::pressure);
    }
}

bool filling_buffers::has_all_open() {
    const std::size_t num_open = num_own_open_ + (shared_ ? shared_->num_own_open() : 0);
    return num_open >= state_.memory().numbers().chunks_per_worker;
}

bool filling_buffers::is_empty() const noexcept {
    return std::all_of(buffers_.begin(), buffers_.end(),
                       [](const slot& s) { return s.buffer.is_closed(); });
}

std::int64_t filling_buffers::num_unsent() const noexcept {
    std::int64_t sum = 0;
    for (const slot& s : buffers_) {
        if (!s.buffer.is_closed()) sum += s.buffer.num_pushed();
    }
    return sum;
}

}  // namespace crossdock
