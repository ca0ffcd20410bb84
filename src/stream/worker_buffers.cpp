#include "worker_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <thread>

namespace crossdock {

namespace {

constexpr std::size_t prefetched_bytes = 512;  // then the hardware has seen where it leads
constexpr std::size_t staged_bytes = 512;
constexpr std::uint32_t least_staged = 4;
constexpr std::align_val_t chunk_alignment{64};

constexpr std::uint64_t fill_of(chunk_ref ref, std::uint32_t units) {
    return (std::uint64_t{ref} << 32) | units;
}
constexpr chunk_ref ref_of(std::uint64_t fill) { return static_cast<chunk_ref>(fill >> 32); }
constexpr std::uint32_t units_of(std::uint64_t fill) { return static_cast<std::uint32_t>(fill); }

// Items that a worker collects for a buffer that it shares; all of it where items differ in size.
std::uint32_t staged_units(const chunk_shape& shape, int channel) {
    const std::uint32_t capacity = shape.capacity(channel);
    if (shape.has_records(channel)) return capacity;
    const auto many = static_cast<std::uint32_t>(staged_bytes / shape.item_bytes(channel));
    return std::min(capacity, std::max(many, least_staged));
}

}  // namespace

void worker_buffers::aligned_delete::operator()(std::byte* memory) const noexcept {
    ::operator delete(memory, chunk_alignment);
}

worker_buffers::worker_buffers(stream_engine& engine, stream_worker& worker, int number)
    : engine_(engine),
      worker_(worker),
      push_(worker.push_),
      id_{engine.rank(), number},
      number_in_place_(layout().is_node()
                           ? layout().nodes().local_rank(engine.rank()) * layout().num_workers() +
                                 number
                           : number) {
    const std::size_t num_channels = static_cast<std::size_t>(shape().num_channels());
    cursors_.resize(layout().buffers().size() * num_channels);
    fillings_.resize(cursors_.size());
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
    push_.num_workers = static_cast<unsigned>(layout().num_workers());
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
}

std::size_t worker_buffers::index_for(int channel, worker_id to) const {
    const stream_layout::target& target = layout().targets()[static_cast<std::size_t>(to.rank)];
    return static_cast<std::size_t>(channel) * layout().buffers().size() + target.buffer +
           (static_cast<std::uint32_t>(to.worker) & push_.per_worker_mask);
}

// ---------------------------------------------------------------------------------- filling

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
        send_waiting();
        f.ref = overflow_.empty() ? take_free() : no_chunk;
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
        set_cursor(index, c.items(), tags, c.open_sources(), shape().capacity(channel));
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
        urgent_.push_back(index);
    } else {
        begun_.push_back({index, f.serial, now_if_needed()});
        if (begun_.size() > 2 * num_cursors() + 64) forget_old(begun_);
    }
}

void worker_buffers::begin_with_scratch(std::size_t index) {
    std::uint32_t tag = 0;
    std::memcpy(&tag, scratch_.data() + scratch_.size() - sizeof tag, sizeof tag);
    begin(index);
    stream_cursor& open = cursors_[index];
    const std::size_t item_bytes = shape().item_bytes(channel_of(index));
    std::memcpy(open.next, scratch_.data(), item_bytes);
    if (push_.tags != tag_kind::none) worker_.put_tag(open, tag, push_.own_number);
    if (shape().channel(channel_of(index)).combines) {
        worker_.position_slot(waiting_items_[index], engine_.sink().key(open.next), tag) = 0;
    }
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

// ---------------------------------------------------------------------------------- samples

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
    until_sample_ = options().latency_sample_interval;
}

void worker_buffers::take_sample(std::size_t index) {
    filling& f = fillings_[index];
    if (f.kind == filling_kind::staging) {
        f.sample_nanoseconds = engine_.now();
        f.staged_sample = f.sample_position;
    } else {
        chunk(f.memory, shape()).add_sample(f.sample_position, engine_.now());
    }
    cursors_[index].end += (room_of(index) - fill(index)) * shape().unit_bytes(channel_of(index));
    f.sample_position = no_sample;
}

// A buffer that leaves early has seen fewer pushes than were reckoned with.
void worker_buffers::give_sample_back(std::size_t index) {
    if (options().latency_sample_interval == 0 || shape().has_records(channel_of(index))) return;
    const filling& f = fillings_[index];
    const auto filled = static_cast<count_t>(fill(index));
    if (f.sample_position != no_sample) {
        until_sample_ = std::min(until_sample_, count_t{f.sample_position} + 1 - filled);
    } else {
        until_sample_ = std::min(until_sample_ + static_cast<count_t>(room_of(index)) - filled,
                                 options().latency_sample_interval);
    }
}

std::uint32_t worker_buffers::room_of(std::size_t index) const {
    return fillings_[index].kind == filling_kind::staging ? staged_units(shape(), channel_of(index))
                                                          : shape().capacity(channel_of(index));
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
    append_record(index, {item, tag, push_.own_number});
    if (!is_inside_) relieve();
}

void worker_buffers::append_record(std::size_t index, const item_on_the_way& item) {
    const std::size_t room = stream_record::room(item.bytes.size());
    stream_cursor& open = cursors_[index];
    filling& f = fillings_[index];
    if (f.kind != filling_kind::closed && static_cast<std::size_t>(open.end - open.next) < room) {
        leave(index, flush_cause::full);
    }
    if (f.kind == filling_kind::closed) begin(index);
    const stream_record record{static_cast<std::uint32_t>(item.bytes.size()), item.tag, item.source,
                               0};
    if (options().latency_sample_interval > 0 && --until_sample_ <= 0) sample_record(index);
    std::memcpy(open.next, &record, sizeof record);
    if (!item.bytes.empty()) {
        std::memcpy(open.next + sizeof record, item.bytes.data(), item.bytes.size());
    }
    open.next += room;
    ++f.num_records;
    if (static_cast<std::size_t>(open.end - open.next) < sizeof record) {
        leave(index, flush_cause::full);
    }
}

// An item that came from elsewhere, or waits no longer in scratch.
void worker_buffers::append(std::size_t index, const item_on_the_way& item) {
    filling& f = fillings_[index];
    if (f.kind == filling_kind::closed) begin(index);
    stream_cursor& open = cursors_[index];
    const stream_channel& channel = shape().channel(channel_of(index));
    if (channel.combines && combine_on_the_way(open, item)) return;
    std::memcpy(open.next, item.bytes.data(), channel.item_bytes);
    if (push_.tags != tag_kind::none) worker_.put_tag(open, item.tag, item.source);
    open.next += channel.item_bytes;
    ++f.num_forwarded;
    if (f.sample_position != no_sample && open.next == open.end) take_sample(index);
    if (open.next == open.end) leave(index, flush_cause::full);
}

// Records are long: each may look at the clock.
void worker_buffers::sample_record(std::size_t index) {
    filling& f = fillings_[index];
    until_sample_ = options().latency_sample_interval;
    if (f.kind == filling_kind::staging) {
        f.sample_nanoseconds = engine_.now();
        f.staged_sample = fill(index);
    } else {
        chunk(f.memory, shape()).add_sample(fill(index), engine_.now());
    }
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

void worker_buffers::forward(int channel, int stage, int place, const item_on_the_way& item) {
    const int worker =
        layout().is_per_worker() ? static_cast<int>(item.tag) % layout().num_workers() : 0;
    const std::size_t index = static_cast<std::size_t>(channel) * layout().buffers().size() +
                              layout().buffer_on_the_way(stage, place) +
                              static_cast<std::size_t>(worker);
    ++statistics_.forwarded;
    if (shape().has_records(channel)) {
        append_record(index, item);
        ++fillings_[index].num_forwarded;
    } else {
        append(index, item);
    }
}

bool worker_buffers::has_room(std::size_t index) {
    if (is_inside_) return true;
    if (!find_free()) {
        leave_oldest();
        engine_.drive();
        if (!find_free()) return fillings_[index].kind == filling_kind::own;
    }
    return true;
}

// ---------------------------------------------------------------------------------- leaving

// Counted before anybody else can see them.
void worker_buffers::count_sent(std::size_t index) {
    const std::int64_t own = std::int64_t{num_items(index)} - fillings_[index].num_forwarded;
    sent_.store(sent_.load(std::memory_order_relaxed) + own, std::memory_order_release);
}

void worker_buffers::leave(std::size_t index, flush_cause cause) {
    filling& f = fillings_[index];
    if (f.kind == filling_kind::staging) {
        give_sample_back(index);
        count_sent(index);
        deposit(index);
        reset_cursor(index);
        return;
    }
    give_sample_back(index);
    count_sent(index);
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
        layout().group_size(end.place) > 1) {
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
    const std::size_t num_bytes = engine_.hand_over(ref, end.place);
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
        const chunk to = memory().at(ref);
        std::memcpy(to.message_room().data(), from.message().data(), from.message().size());
        to.state().missing.store(0, std::memory_order_relaxed);
        send(ref, waiting.index, waiting.cause);
        free_overflow_.push_back(waiting.memory);
    }
}

bool worker_buffers::is_up_to_date(const begun_buffer& b) const noexcept {
    return fillings_[b.index].kind != filling_kind::closed && fillings_[b.index].serial == b.serial;
}

bool worker_buffers::is_up_to_date(const begun_shared& b) const noexcept {
    return ref_of(shared(b.index).load(std::memory_order_relaxed)) == b.ref;
}

template <class Begun>
void worker_buffers::forget_old(std::deque<Begun>& begun) {
    std::erase_if(begun, [&](const Begun& b) { return !is_up_to_date(b); });
}

void worker_buffers::leave_all(flush_cause cause) {
    leave_urgent();
    for (const begun_buffer& b : begun_) {
        if (is_up_to_date(b)) leave(b.index, cause);
    }
    begun_.clear();
    for (const begun_shared& b : begun_shared_) close_shared(b.index, b.ref, cause);
    begun_shared_.clear();
    send_waiting();
}

void worker_buffers::leave_urgent() {
    for (const std::size_t index : urgent_) {
        if (fillings_[index].kind == filling_kind::closed) continue;
        const bool is_shared = fillings_[index].kind == filling_kind::staging;
        leave(index, flush_cause::urgent);
        if (is_shared) close_shared(index, no_chunk, flush_cause::urgent);
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
        close_shared(b.index, b.ref, flush_cause::age);
    }
}

// The buffer with memory of this worker's that was begun first.
void worker_buffers::leave_oldest() {
    forget_old(begun_);
    forget_old(begun_shared_);
    if (!begun_shared_.empty()) {
        const begun_shared b = begun_shared_.front();
        begun_shared_.pop_front();
        close_shared(b.index, b.ref, flush_cause::pressure);
    } else if (!begun_.empty() && fillings_[begun_.front().index].kind != filling_kind::staging) {
        const begun_buffer b = begun_.front();
        begun_.pop_front();
        leave(b.index, flush_cause::pressure);
    }
}

void worker_buffers::flush() {
    leave_all(flush_cause::request);
    if (!is_inside_) engine_.drive();
}

void worker_buffers::flush(worker_id to) {
    for (int channel = 0; channel < shape().num_channels(); ++channel) {
        const std::size_t index = index_for(channel, to);
        if (fillings_[index].kind != filling_kind::closed) leave(index, flush_cause::request);
        if (fills_together(layout().scheme())) {
            close_shared(index, no_chunk, flush_cause::request);
        }
    }
    if (!is_inside_) engine_.drive();
}

// ---------------------------------------------------------------------------- shared buffers
//
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
        if (closes) {
            c.head().units = capacity;
            c.state().cause = static_cast<std::uint32_t>(flush_cause::full);
        }
        done += units;
        commit(ref, index, units - (closes ? capacity : 0));
    }
}

// False if this worker has no chunk to begin it with.
bool worker_buffers::begin_shared(std::size_t index) {
    send_waiting();
    const chunk_ref ref = overflow_.empty() ? take_free() : no_chunk;
    if (ref == no_chunk) return false;
    begin_chunk(memory().at(ref), index);
    std::uint64_t none = 0;
    if (!shared(index).compare_exchange_strong(none, fill_of(ref, 0), std::memory_order_acq_rel)) {
        free_.push_back(ref);  // somebody else was faster
        return true;
    }
    memory().count_shared(engine_.shared_holder(), 1);
    if (!shape().channel(channel_of(index)).is_urgent) {
        begun_shared_.push_back({index, ref, now_if_needed()});
        if (begun_shared_.size() > 2 * num_cursors() + 64) forget_old(begun_shared_);
    }
    return true;
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

// What is staged becomes a buffer of its own, beyond the bound.
void worker_buffers::spill(std::size_t index, std::uint32_t from) {
    std::byte* const into = take_overflow();
    const chunk c(into, shape());
    begin_chunk(c, index);
    const std::uint32_t units = fill(index) - from;
    copy_staged(index, from, c, 0, units);
    c.head().items = shape().has_records(channel_of(index)) ? fillings_[index].num_records : units;
    c.close(units);
    overflow_.push_back({into, index, flush_cause::pressure});
    ++statistics_.overflow_buffers;
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

// ---------------------------------------------------------------------------------- room

bool worker_buffers::find_free() {
    send_waiting();
    if (free_.empty()) memory().take_free(static_cast<std::uint32_t>(id_.worker), free_);
    return !free_.empty() && overflow_.empty();
}

chunk_ref worker_buffers::take_free() {
    if (free_.empty()) memory().take_free(static_cast<std::uint32_t>(id_.worker), free_);
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

// None of this worker's chunks is on its way.
bool worker_buffers::has_all_open() {
    forget_old(begun_shared_);
    return num_open_ + begun_shared_.size() >= memory().numbers().chunks_per_worker;
}

// Outside handlers, a push that has sent a buffer takes what came meanwhile, while it is warm in the
// cache, and leaves at least one chunk for the next one to begin.
void worker_buffers::relieve() {
    engine_.drive();
    if (options().pressure == back_pressure::progress && memory().has_arrivals(id_.worker)) {
        receive_all();
    }
    if (find_free()) return;
    if (has_all_open()) leave_oldest();
    if (options().pressure == back_pressure::fail) return;
    ++statistics_.waits;
    keeps_ = options().pressure == back_pressure::block;
    while (!find_free()) {
        const count_t num_handled = receive_all();
        leave_urgent();
        engine_.drive();
        if (num_handled == 0 && !find_free()) {
            if (has_all_open()) leave_oldest();
            std::this_thread::yield();
        }
    }
    keeps_ = false;
}

// ---------------------------------------------------------------------------------- receiving

// What is pushed from here on comes from handlers or is on its way: never waits, never refused.
void worker_buffers::begin_inside() noexcept {
    is_inside_ = true;
    set_refusing(false);
}

void worker_buffers::end_inside() noexcept {
    is_inside_ = false;
    set_refusing(is_draining_);
}

count_t worker_buffers::receive_all() {
    begin_inside();
    arrived_.clear();
    if (!later_.empty()) {
        arrived_.swap(later_);  // in part they may have to wait on
    }
    count_t count = 0;
    memory().take(id_.worker, true, arrived_);
    memory().take(id_.worker, false, arrived_);
    for (std::size_t i = 0; i < arrived_.size(); ++i) {
        const chunk_ref ref = arrived_[i];
        // What is urgent and came meanwhile overtakes.
        const std::size_t end = arrived_.size();
        memory().take(id_.worker, true, arrived_);
        for (std::size_t u = end; u < arrived_.size(); ++u) count += receive(arrived_[u]);
        arrived_.resize(end);
        count += receive(ref);
    }
    end_inside();
    return count;
}

count_t worker_buffers::receive(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const chunk_head& head = c.head();
    if (head.phase > phase_) {
        later_.push_back(ref);
        return 0;
    }
    is_quiet_.store(false, std::memory_order_relaxed);
    if (head.is_grouped != 0) return handle_share(ref);
    statistics_.hops += head.items;
    const bool travels_on = static_cast<int>(head.stage) < layout().num_stages();
    const bool is_for_many = head.worker < 0 && layout().group_size(layout().here()) > 1;
    if (travels_on || is_for_many) return divide(ref);
    for (std::uint32_t i = 0; i < std::min(head.num_samples.load(), chunk_head::max_samples); ++i) {
        add_latency(head.sample_nanoseconds[i]);
    }
    return handle(ref, 0, head.units);
}

count_t worker_buffers::divide(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const chunk_head& head = c.head();
    const auto workers = static_cast<std::uint32_t>(layout().num_workers());
    const int stage = static_cast<int>(head.stage);
    const int channel = c.channel();
    const std::uint32_t num_samples = std::min(head.num_samples.load(), chunk_head::max_samples);
    std::uint32_t gone = 0;  // samples that travel on, as bits

    const auto number_of = [&](std::uint32_t tag) -> std::uint32_t {
        const auto rank = static_cast<rank_t>(tag / workers);
        if (layout().place_of(rank) != layout().here()) return item_divider::elsewhere;
        const auto first =
            layout().is_node() ? static_cast<std::uint32_t>(layout().nodes().local_rank(rank)) : 0;
        return first * workers + tag % workers;
    };
    const auto travels_on = [&](std::uint32_t position, std::span<const std::byte> bytes,
                                std::uint32_t tag, std::uint32_t source) {
        forward(channel, stage, layout().place_of(static_cast<rank_t>(tag / workers)),
                {bytes, tag, source});
        for (std::uint32_t i = 0; i < num_samples; ++i) {
            if (head.sample_positions[i] == position) gone |= 1U << i;
        }
    };
    const int only = layout().has_one_hop() ? divider_.divide_here(c, shape())
                                            : divider_.divide(c, shape(), number_of, travels_on);
    for (std::uint32_t i = 0; i < num_samples; ++i) {
        if ((gone & (1U << i)) == 0) add_latency(head.sample_nanoseconds[i]);
    }
    if (head.items == 0) {
        memory().give_back(ref);
        return 0;
    }
    if (only == number_in_place_) return handle(ref, 0, head.units);
    c.head().is_grouped = 2;
    const bool has_own = c.offsets()[number_in_place_ + 1] > c.offsets()[number_in_place_];
    engine_.put_shares(ref, memory().here(), number_in_place_);
    return has_own ? handle_share(ref) : 0;
}

count_t worker_buffers::handle_share(chunk_ref ref) {
    const chunk c = memory().at(ref);
    const std::uint32_t first = c.offsets()[number_in_place_];
    const std::uint32_t last = c.offsets()[number_in_place_ + 1];
    if (c.head().is_grouped == 1 && first == 0) {
        const std::uint32_t num = std::min(c.head().num_samples.load(), chunk_head::max_samples);
        for (std::uint32_t i = 0; i < num; ++i) add_latency(c.head().sample_nanoseconds[i]);
    }
    const count_t count = handle(ref, first, last);
    return count;
}

count_t worker_buffers::handle(chunk_ref ref, std::uint32_t first, std::uint32_t last) {
    const chunk c = memory().at(ref);
    const int channel = c.channel();
    const std::size_t unit = shape().unit_bytes(channel);
    stream_arrivals arrivals{
        channel,         c.items() + first * unit,
        last - first,    (last - first) * unit,
        c.head().source, shape().source_bytes(channel) > 0 ? c.sources() + first : nullptr};
    if (shape().has_records(channel)) {
        record_sources_.clear();
        for (std::uint32_t at = first; at < last;) {
            stream_record record;
            std::memcpy(&record, c.items() + at, sizeof record);
            record_sources_.push_back(record.source);
            at += static_cast<std::uint32_t>(stream_record::room(record.num_bytes));
        }
        arrivals.num_items = static_cast<count_t>(record_sources_.size());
        arrivals.sources = record_sources_.data();
    }
    if (c.head().is_grouped == 1) statistics_.hops += arrivals.num_items;
    if (keeps_) {
        keep(arrivals);
    } else {
        run_handler(arrivals);
    }
    release(ref);
    return arrivals.num_items;
}

void worker_buffers::run_handler(const stream_arrivals& arrivals) {
    if (!engine_.has_failed()) {
        try {
            engine_.sink().handle(worker_, arrivals);
        } catch (...) {
            fail();
        }
    }
    statistics_.handled += arrivals.num_items;
    handled_ += arrivals.num_items;
}

void worker_buffers::keep(const stream_arrivals& arrivals) {
    kept_share kept{
        arrivals.channel, arrivals.num_items, arrivals.source, arrivals.sources != nullptr, {}, {}};
    kept.items.assign(arrivals.items, arrivals.items + arrivals.num_bytes);
    if (kept.has_sources) {
        kept.sources.assign(arrivals.sources, arrivals.sources + arrivals.num_items);
    }
    kept_.push_back(std::move(kept));
}

count_t worker_buffers::handle_kept() {
    if (kept_.empty()) return 0;
    const std::vector<kept_share> kept = std::move(kept_);
    kept_.clear();
    count_t count = 0;
    begin_inside();
    for (const kept_share& share : kept) {
        run_handler({share.channel, share.items.data(), share.num_items, share.items.size(),
                     share.source, share.has_sources ? share.sources.data() : nullptr});
        count += share.num_items;
    }
    end_inside();
    return count;
}

void worker_buffers::release(chunk_ref ref) {
    std::atomic<std::uint32_t>& readers = memory().at(ref).state().readers;
    if (readers.load(std::memory_order_acquire) == 1 ||
        readers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        memory().give_back(ref);
    }
}

void worker_buffers::add_latency(std::int64_t since) {
    statistics_.latency.add(engine_.now() - since);
}

count_t worker_buffers::progress() {
    if (is_inside_) throw error(errc::invalid_state, "progress() of a stream inside a handler");
    const count_t count = handle_kept() + receive_all();
    leave_urgent();
    send_waiting();
    if (options().max_age_seconds) leave_old();
    engine_.drive();
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

// ---------------------------------------------------------------------------------- draining

void worker_buffers::start_drain() {
    if (is_inside_) throw error(errc::invalid_state, "drain() of a stream inside a handler");
    if (is_closed_) throw error(errc::invalid_state, "drain() of a stream after close()");
    if (is_draining_) throw error(errc::invalid_state, "drain() of a stream that drains already");
    leave_all(flush_cause::drain);
    is_draining_ = true;
    set_refusing(true);
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
    if (engine_.has_failed()) {
        has_ended_ = true;  // and refuses pushes from now on
        if (failure_) std::rethrow_exception(failure_);
        require_open();
    }
    set_refusing(false);
    return true;
}

void worker_buffers::close() noexcept {
    is_closed_ = true;
    set_refusing(true);
}

bool worker_buffers::is_at_rest() const noexcept {
    return !is_draining_ && overflow_.empty() && kept_.empty() && later_.empty() &&
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
    // Shared buffers are counted once, where their fill is kept.
    if (fills_together(layout().scheme()) && id_.worker == 0 &&
        memory().here() == engine_.shared_holder()) {
        result.peak_buffers = memory().peak_shared(engine_.shared_holder());
    }
    return result;
}

}  // namespace crossdock
