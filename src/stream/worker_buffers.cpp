#include "worker_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace crossdock {

namespace {

constexpr std::size_t prefetched_bytes = 512;  // then the hardware has seen where it leads
constexpr std::uint32_t least_staged = 4;

// Items that a worker collects for a buffer that it shares; all of it where items differ in size.
std::uint32_t staged_units(const chunk_layout& shape, int channel) {
    const std::uint32_t capacity = shape.capacity(channel);
    if (shape.has_records(channel)) return capacity;
    const auto many = static_cast<std::uint32_t>(staged_bytes / shape.item_bytes(channel));
    return std::min(capacity, std::max(many, least_staged));
}

}  // namespace

worker_buffers::worker_buffers(stream_engine& engine, stream_worker& worker, int number)
    : engine_(engine),
      worker_(worker),
      push_(worker.push_),
      id_{engine.rank(), number},
      number_at_endpoint_(
          layout().is_node()
              ? layout().nodes().local_rank(engine.rank()) * layout().num_workers() + number
              : number) {
    const std::size_t num_channels = static_cast<std::size_t>(shape().num_channels());
    cursors_.resize(layout().buffers().size() * num_channels);
    fillings_.resize(cursors_.size());
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
        limits_.push_back(shape().capacity(channel_of(i)));
    }
    std::size_t largest = 1;
    std::uint32_t largest_capacity = 1;
    bool combines = false;
    for (int c = 0; c < shape().num_channels(); ++c) {
        largest = std::max(largest, shape().item_bytes(c));
        if (!shape().channel(c).combines) continue;
        combines = true;
        largest_capacity = std::max(largest_capacity, shape().capacity(c));
    }
    scratch_.resize((largest + 7) / 8 * 8 + sizeof(std::uint32_t));
    if (fills_together(layout().scheme())) {
        for (int c = 0; c < shape().num_channels(); ++c) {
            const std::uint32_t units = staged_units(shape(), c);
            const auto more =
                static_cast<std::size_t>(shape().tag_bytes(c) + shape().source_bytes(c));
            const std::size_t bytes = units * (shape().unit_bytes(c) + more) + 8;
            staging_stride_ = std::max(staging_stride_, (bytes + 63) / 64 * 64);
        }
        staging_.resize(staging_stride_ * cursors_.size());
        spilled_.resize(cursors_.size());
    }
    if (combines) {
        const std::size_t slots = std::bit_ceil(std::size_t{2} * largest_capacity);
        positions_.resize(slots * cursors_.size());
        waiting_items_.resize(cursors_.size());
        for (std::size_t i = 0; i < cursors_.size(); ++i) {
            waiting_items_[i].positions = positions_.data() + i * slots;
        }
        push_.position_mask = static_cast<std::uint32_t>(slots - 1);
        push_.waiting = waiting_items_.data();
    }

    until_sample_ = options().latency_sample_interval;
    refused_.resize(cursors_.size());
    push_.cursors = cursors_.data();
    push_.targets = layout().targets().data();
    push_.num_ranks = static_cast<unsigned>(layout().num_ranks());
    push_.last_worker = static_cast<unsigned>(layout().num_workers() - 1);
    push_.num_buffers = static_cast<std::uint32_t>(layout().buffers().size());
    push_.per_worker_mask = layout().is_per_worker() ? ~std::uint32_t{0} : 0;
    push_.own_number = static_cast<std::uint32_t>(engine.rank() * layout().num_workers() + number);
    for (int c = 0; c < shape().num_channels(); ++c) {
        push_.tag_bytes = std::max(push_.tag_bytes, shape().tag_bytes(c));
        push_.keeps_sources = push_.keeps_sources || shape().source_bytes(c) > 0;
    }
    if (push_.tag_bytes > 0 || push_.keeps_sources) {
        const bool is_number = push_.tag_bytes == 2 && !push_.keeps_sources;
        push_.tags = is_number ? tag_kind::number : tag_kind::any;
    }
    for (std::size_t i = 0; i < cursors_.size(); ++i) reset_cursor(i);
    refused_ = cursors_;
    for (const stream_layout::target& target : layout().targets()) {
        first_cursors_.push_back(&cursors_[target.buffer]);
        first_refused_.push_back(&refused_[target.buffer]);
    }
    set_refusing(false);
}

std::size_t worker_buffers::index_for(int channel, worker_id to) const {
    const stream_layout::target& target = layout().targets()[static_cast<std::size_t>(to.rank)];
    return static_cast<std::size_t>(channel) * layout().buffers().size() + target.buffer +
           (static_cast<std::uint32_t>(to.worker) & push_.per_worker_mask);
}

void worker_buffers::set_cursor(std::size_t index, std::byte* items, std::byte* tags,
                                std::uint32_t* sources, std::uint32_t units) {
    const std::size_t bytes = units * shape().unit_bytes(channel_of(index));
    cursors_[index] = {items, items + bytes, tags, sources};
}

// Of a buffer that is not begun: room for one item, or for no record.
stream_cursor worker_buffers::closed_cursor(int channel) noexcept {
    std::byte* const tag = scratch_.data() + scratch_.size() - sizeof(std::uint32_t);
    return {scratch_.data(), scratch_.data() + shape().item_bytes(channel), tag, &scratch_source_};
}

void worker_buffers::reset_cursor(std::size_t index) {
    cursors_[index] = closed_cursor(channel_of(index));
    fillings_[index].kind = filling_kind::closed;
    if (!waiting_items_.empty()) waiting_items_[index].items = nullptr;
}

std::uint32_t worker_buffers::fill(std::size_t index) const {
    const filling& f = fillings_[index];
    const std::byte* const first = f.kind == filling_kind::closed ? scratch_.data()
                                   : f.kind == filling_kind::staging
                                       ? f.memory
                                       : f.memory + shape().items_at();
    const auto bytes = static_cast<std::size_t>(cursors_[index].next - first);
    return static_cast<std::uint32_t>(bytes / shape().unit_bytes(channel_of(index)));
}

std::uint32_t worker_buffers::num_items(std::size_t index) const {
    return shape().has_records(channel_of(index)) ? fillings_[index].num_records : fill(index);
}

std::int64_t worker_buffers::now_if_needed() const {
    return options().max_age_seconds ? engine_.now() : 0;
}

void worker_buffers::begin_chunk(const chunk& c, std::size_t index) {
    const stream_layout::buffer_end& end = end_of(index);
    chunk_head& head = c.head();
    head.channel = static_cast<std::uint32_t>(channel_of(index));
    head.phase = phase_;
    head.stage = static_cast<std::uint32_t>(end.stage);
    head.source = push_.own_number;
    head.worker = end.worker;
    head.is_grouped = 0;
    head.num_samples.store(0, std::memory_order_relaxed);
    c.state().missing.store(0, std::memory_order_relaxed);
    c.state().record_items.store(0, std::memory_order_relaxed);
}

// Takes memory for a buffer: never waits, but goes beyond the bound if it must.
void worker_buffers::begin(std::size_t index) {
    filling& f = fillings_[index];
    const int channel = channel_of(index);
    f.serial = ++serial_;
    f.num_records = 0;
    f.num_forwarded = 0;
    std::byte* tags = nullptr;
    if (fills_together(layout().scheme())) {
        f.kind = filling_kind::staging;
        f.sample_nanoseconds = 0;
        f.memory = staging_.data() + index * staging_stride_;
        const std::uint32_t units = staged_units(shape(), channel);
        tags = f.memory + (units * shape().unit_bytes(channel) + 3) / 4 * 4;
        auto* const sources = reinterpret_cast<std::uint32_t*>(
            tags + (units * static_cast<std::size_t>(shape().tag_bytes(channel)) + 3) / 4 * 4);
        set_cursor(index, f.memory, tags, sources, units);
    } else {
        f.ref = find_free() ? take_free() : no_chunk;
        if (f.ref != no_chunk) {
            f.kind = filling_kind::own;
            f.memory = reinterpret_cast<std::byte*>(&memory().at(f.ref).state());
            ++num_open_;
        } else {
            f.kind = filling_kind::overflow;
            f.memory = take_overflow();
        }
        const chunk c(f.memory, shape());
        begin_chunk(c, index);
        tags = c.open_tags();
        set_cursor(index, c.items(), tags, c.open_sources(), limits_[index]);
        for (std::size_t at = 0; at < prefetched_bytes; at += 64) {
            __builtin_prefetch(c.items() + at, 1);
        }
        statistics_.peak_buffers = std::max(statistics_.peak_buffers, ++num_filling_);
    }
    plan_sample(index);
    if (!waiting_items_.empty()) {
        waiting_items_[index].items = cursors_[index].next;
        waiting_items_[index].tags = tags;
    }
    if (shape().channel(channel).is_urgent) {
        if (!f.is_urgent) urgent_.push_back(index);
        f.is_urgent = true;
    } else {
        f.since = now_if_needed();
        begun_.push_back({index, f.serial, f.since});
        if (begun_.size() > 2 * num_cursors() + 64) forget_old(begun_);
    }
}

void worker_buffers::begin_with_scratch(std::size_t index) {
    std::uint32_t tag = 0;
    std::memcpy(&tag, scratch_.data() + scratch_.size() - sizeof tag, sizeof tag);
    const bool combines = shape().channel(channel_of(index)).combines;
    // Who throws here has pushed nothing.
    const std::uint64_t key = combines ? engine_.sink().key(scratch_.data()) : 0;
    begin(index);
    stream_cursor& open = cursors_[index];
    const std::size_t item_bytes = shape().item_bytes(channel_of(index));
    std::memcpy(open.next, scratch_.data(), item_bytes);
    if (push_.tags != tag_kind::none) worker_.put_tag(open, tag, push_.own_number);
    if (combines) worker_.position_slot(waiting_items_[index], key, tag) = 0;
    open.next += item_bytes;
}

void worker_buffers::after_push(stream_cursor& open) {
    if (push_.is_refusing) {
        open = closed_cursor(channel_of(static_cast<std::size_t>(&open - refused_.data())));
        require_open();
    }
    const std::size_t index = index_of(open);
    filling& f = fillings_[index];
    if (f.kind == filling_kind::closed) {
        open = closed_cursor(channel_of(index));
        if (!is_inside_) require_room();
        begin_with_scratch(index);
    }
    if (f.sample_position != no_sample && open.next == open.end) take_sample(index);
    const bool is_full = open.next == open.end;
    if (is_full) leave(index, flush_cause::full);
    if (!is_inside_ && (is_full || f.kind == filling_kind::overflow)) relieve();
}

void worker_buffers::set_refusing(bool is_refusing) noexcept {
    push_.is_refusing = is_refusing;
    push_.cursors = is_refusing ? refused_.data() : cursors_.data();
    push_.first_cursors = is_refusing ? first_refused_.data() : first_cursors_.data();
}

void worker_buffers::require_open() const {
    if (is_closed_) throw error(errc::invalid_state, "a push to a stream after close()");
    if (has_ended_ || engine_.has_failed()) {
        throw error(errc::handler_failed,
                    fmt::format("the stream has ended: a handler of rank {} has thrown",
                                engine_.failed_rank()),
                    engine_.failed_rank());
    }
    if (is_draining_) throw error(errc::invalid_state, "a push to a stream after drain()");
}

// Before a push outside handlers takes memory for another buffer.
void worker_buffers::require_room() {
    require_open();
    if (options().pressure != back_pressure::fail || find_free()) return;
    throw error(errc::invalid_state,
                fmt::format("all {} buffers of worker {} are in use",
                            memory().numbers().chunks_per_worker, id_.worker),
                id_.rank);
}

// Of the items of a buffer at most one carries the time: the buffer first ends behind it.
void worker_buffers::plan_sample(std::size_t index) {
    filling& f = fillings_[index];
    f.sample_position = no_sample;
    if (options().latency_sample_interval == 0 || shape().has_records(channel_of(index))) return;
    const auto room = static_cast<count_t>(room_of(index));
    if (until_sample_ > room) {
        until_sample_ -= room;
        return;
    }
    f.sample_position = static_cast<std::uint32_t>(until_sample_ - 1);
    const auto units = static_cast<std::size_t>(until_sample_);
    cursors_[index].end = cursors_[index].next + units * shape().unit_bytes(channel_of(index));
    const count_t behind = room - until_sample_;
    until_sample_ = std::max<count_t>(options().latency_sample_interval - behind, 1);
}

void worker_buffers::take_sample(std::size_t index) {
    filling& f = fillings_[index];
    mark(index, f.sample_position, engine_.now());
    cursors_[index].end += (room_of(index) - fill(index)) * shape().unit_bytes(channel_of(index));
    f.sample_position = no_sample;
}

// An item on its way was not pushed here: the next one is, or that of another buffer.
void worker_buffers::postpone_sample(std::size_t index) {
    filling& f = fillings_[index];
    if (fill(index) == room_of(index)) {
        f.sample_position = no_sample;
        until_sample_ = 1;
    } else {
        ++f.sample_position;
        cursors_[index].end += shape().unit_bytes(channel_of(index));
    }
}

// Writes down when an item was pushed.
void worker_buffers::mark(std::size_t index, std::uint32_t position, std::int64_t nanoseconds) {
    filling& f = fillings_[index];
    if (f.kind == filling_kind::staging) {
        f.sample_nanoseconds = nanoseconds;
        f.staged_sample = position;
    } else {
        chunk(f.memory, shape()).add_sample(position, nanoseconds);
    }
}

// A buffer that leaves early has seen fewer pushes than were reckoned with.
void worker_buffers::give_sample_back(std::size_t index) {
    if (options().latency_sample_interval == 0 || shape().has_records(channel_of(index))) return;
    const filling& f = fillings_[index];
    const auto filled = static_cast<count_t>(fill(index));
    if (f.sample_position != no_sample) {
        until_sample_ = std::min(until_sample_, count_t{f.sample_position} + 1 - filled);
    } else {
        const count_t pushed = filled - f.num_forwarded;
        until_sample_ = std::min(until_sample_ + static_cast<count_t>(room_of(index)) - pushed,
                                 options().latency_sample_interval);
    }
}

std::uint32_t worker_buffers::room_of(std::size_t index) const {
    return fillings_[index].kind == filling_kind::staging ? staged_units(shape(), channel_of(index))
                                                          : limits_[index];
}

void worker_buffers::set_buffer_items(worker_id to, count_t num_items) {
    if (fills_together(layout().scheme())) {
        throw error(errc::invalid_argument,
                    fmt::format("the size of a buffer that several workers fill (scheme {})",
                                to_string(layout().scheme())));
    }
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        const std::uint32_t capacity = shape().capacity(channel);
        if (shape().has_records(channel)) {
            throw error(errc::invalid_argument, "the size of a buffer for items of any size");
        }
        if (num_items < 1 || num_items > count_t{capacity}) {
            throw error(
                errc::invalid_argument,
                fmt::format("a buffer of {} items; there must be 1 to {}", num_items, capacity));
        }
    }
    flush(to);
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        limits_[index_for(channel, to)] = static_cast<std::uint32_t>(num_items);
    }
}

void worker_buffers::push_record(std::size_t index, std::uint32_t tag,
                                 std::span<const std::byte> item) {
    const std::uint32_t capacity = shape().capacity(channel_of(index));
    if (stream_record::room(item.size()) > capacity) {
        throw error(errc::size_mismatch,
                    fmt::format("an item of {} bytes does not fit into a buffer of {}, {} of which "
                                "are taken up by each item itself",
                                item.size(), capacity, sizeof(stream_record)));
    }
    if (!is_inside_) {
        require_open();
        if (fillings_[index].kind == filling_kind::closed) require_room();
    }
    const std::uint32_t serial = serial_;
    append_record(index, {item, tag, push_.own_number, 0}, false);
    const bool has_left = serial_ != serial || fillings_[index].kind == filling_kind::closed;
    if (!is_inside_ && has_left) relieve();
}

void worker_buffers::append_record(std::size_t index, const item_on_the_way& item,
                                   bool is_forwarded) {
    const std::size_t room = stream_record::room(item.bytes.size());
    stream_cursor& open = cursors_[index];
    filling& f = fillings_[index];
    if (f.kind != filling_kind::closed && static_cast<std::size_t>(open.end - open.next) < room) {
        leave(index, flush_cause::full);
    }
    if (f.kind == filling_kind::closed) begin(index);
    const stream_record record{static_cast<std::uint32_t>(item.bytes.size()), item.tag, item.source,
                               0};
    std::int64_t pushed = item.sample_nanoseconds;
    if (!is_forwarded && options().latency_sample_interval > 0 && --until_sample_ <= 0) {
        until_sample_ = options().latency_sample_interval;
        pushed = engine_.now();
    }
    if (pushed != 0) mark(index, fill(index), pushed);
    std::memcpy(open.next, &record, sizeof record);
    if (!item.bytes.empty()) {
        std::memcpy(open.next + sizeof record, item.bytes.data(), item.bytes.size());
    }
    open.next += room;
    ++f.num_records;
    if (is_forwarded) ++f.num_forwarded;
    if (static_cast<std::size_t>(open.end - open.next) < sizeof record) {
        leave(index, flush_cause::full);
    }
}

// An item that came from elsewhere.
void worker_buffers::append(std::size_t index, const item_on_the_way& item) {
    filling& f = fillings_[index];
    if (f.kind == filling_kind::closed) begin(index);
    stream_cursor& open = cursors_[index];
    const stream_channel& channel = shape().channel(channel_of(index));
    if (channel.combines && combine_on_the_way(open, item)) return;
    if (item.sample_nanoseconds != 0) mark(index, fill(index), item.sample_nanoseconds);
    std::memcpy(open.next, item.bytes.data(), channel.item_bytes);
    if (push_.tags != tag_kind::none) worker_.put_tag(open, item.tag, item.source);
    open.next += channel.item_bytes;
    ++f.num_forwarded;
    if (f.sample_position != no_sample && open.next == open.end) postpone_sample(index);
    if (open.next == open.end) leave(index, flush_cause::full);
}

bool worker_buffers::combine_on_the_way(stream_cursor& open, const item_on_the_way& item) {
    const stream_sink& sink = engine_.sink();
    const auto key_of = [&](const std::byte* waiting) { return sink.key(waiting); };
    const auto combine = [&](std::byte* waiting) { sink.combine(waiting, item.bytes.data()); };
    const std::int64_t pushed_and_combined = push_.num_combined;
    try {
        const stream_layout::target tag{0, item.tag};
        if (!worker_.combine_waiting({&open, &tag, 0}, item.bytes.size(),
                                     sink.key(item.bytes.data()), key_of, combine)) {
            return false;
        }
    } catch (...) {
        fail();  // and carry the item on: it is waited for
        return false;
    }
    push_.num_combined = pushed_and_combined;
    ++statistics_.combined;
    ++handled_;  // it was counted as sent where it was pushed
    return true;
}

void worker_buffers::fail() {
    if (!failure_) failure_ = std::current_exception();
    engine_.fail(id_.rank);
}

void worker_buffers::forward(int channel, int stage, int endpoint, const item_on_the_way& item) {
    const int worker =
        layout().is_per_worker() ? static_cast<int>(item.tag) % layout().num_workers() : 0;
    const std::size_t index = static_cast<std::size_t>(channel) * layout().buffers().size() +
                              layout().buffer_on_the_way(stage, endpoint) +
                              static_cast<std::size_t>(worker);
    ++statistics_.forwarded;
    if (shape().has_records(channel)) {
        append_record(index, item, true);
    } else {
        append(index, item);
    }
}

bool worker_buffers::has_room(std::size_t index) {
    is_promised_ = finds_room(index);
    return is_promised_;
}

bool worker_buffers::finds_room(std::size_t index) {
    if (is_inside_ || find_free()) return true;
    const bool has_begun = fillings_[index].kind != filling_kind::closed;
    if (options().pressure == back_pressure::fail && has_begun) return true;
    leave_oldest();
    engine_.drive();
    return find_free();
}

}  // namespace crossdock
