#include "source_buffer.hpp"

namespace crossdock {

namespace {

constexpr std::size_t prefetched_bytes = 512;  // then the hardware has seen where it leads
constexpr std::uint32_t least_staged = 4;

constexpr std::size_t whole_words(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

std::uint32_t staged_units(const chunk_layout& shape, int channel) noexcept {
    const std::uint32_t capacity = shape.capacity(channel);
    if (shape.has_records(channel)) return capacity;
    const auto many = static_cast<std::uint32_t>(staged_bytes / shape.item_bytes(channel));
    return std::min(capacity, std::max(many, least_staged));
}

source_buffer::source_buffer(const chunk_layout& shape, int channel, stream_cursor& open,
                             const stream_cursor& closed)
    : shape_(&shape),
      cursor_(&open),
      closed_(&closed),
      channel_(channel),
      limit_(shape.capacity(channel)) {
    reset();
}

void source_buffer::reset() noexcept {
    *cursor_ = *closed_;
    kind_ = memory_kind::closed;
    items_ = nullptr;
}

void source_buffer::begin(const chunk& memory, chunk_ref ref) {
    kind_ = ref != no_chunk ? memory_kind::chunk : memory_kind::overflow;
    ref_ = ref;
    items_ = memory.items();
    set_cursor(memory.open_tags(), memory.open_sources(), limit_);
    for (std::size_t at = 0; at < prefetched_bytes; at += 64) {
        prefetch_to_write(items_ + at);
    }
}

// Items, tags and sources follow each other, as in a chunk.
void source_buffer::begin_staging(std::byte* memory) {
    const std::uint32_t units = staged_units(*shape_, channel_);
    kind_ = memory_kind::staging;
    items_ = memory;
    staged_sample_nanoseconds_ = 0;
    std::byte* const tags = memory + whole_words(units * shape_->unit_bytes(channel_));
    set_cursor(tags, reinterpret_cast<std::uint32_t*>(tags + whole_words(units * tag_bytes())),
               units);
}

std::size_t source_buffer::staging_bytes(const chunk_layout& shape, int channel) noexcept {
    const std::uint32_t units = staged_units(shape, channel);
    const auto more =
        static_cast<std::size_t>(shape.tag_bytes(channel) + shape.source_bytes(channel));
    return units * (shape.unit_bytes(channel) + more) + 8;
}

void source_buffer::set_cursor(std::byte* tags, std::uint32_t* sources, std::uint32_t units) {
    room_ = units;
    num_records_ = 0;
    num_forwarded_ = 0;
    planned_sample_ = latency_sampler::none;
    *cursor_ = {items_, items_ + units * shape_->unit_bytes(channel_), tags, sources};
}

void source_buffer::append_record(const forwarded_item& item, bool is_forwarded) {
    stream_cursor& open = *cursor_;
    const stream_record record{static_cast<std::uint32_t>(item.bytes.size()), item.tag, item.source,
                               0};
    if (item.pushed_nanoseconds != 0) mark(fill(), item.pushed_nanoseconds);
    std::memcpy(open.next, &record, sizeof record);
    if (!item.bytes.empty()) {
        std::memcpy(open.next + sizeof record, item.bytes.data(), item.bytes.size());
    }
    open.next += stream_record::room(item.bytes.size());
    ++num_records_;
    if (is_forwarded) ++num_forwarded_;
}

void source_buffer::plan_sample(latency_sampler& sampler) {
    if (shape_->has_records(channel_)) return;
    planned_sample_ = sampler.plan(room_);
    if (planned_sample_ == latency_sampler::none) return;
    const std::size_t units = std::size_t{planned_sample_} + 1;
    cursor_->end = items_ + units * shape_->unit_bytes(channel_);
}

void source_buffer::take_sample(std::int64_t now) {
    mark(planned_sample_, now);
    cursor_->end = items_ + room_ * shape_->unit_bytes(channel_);
    planned_sample_ = latency_sampler::none;
}

void source_buffer::postpone_sample(latency_sampler& sampler) {
    if (fill() == room_) {
        planned_sample_ = latency_sampler::none;
        sampler.postpone();
    } else {
        ++planned_sample_;
        cursor_->end += shape_->unit_bytes(channel_);
    }
}

void source_buffer::correct(latency_sampler& sampler) const {
    if (shape_->has_records(channel_)) return;
    sampler.correct(planned_sample_, room_, fill(), num_forwarded_);
}

void source_buffer::mark(std::uint32_t position, std::int64_t nanoseconds) {
    if (kind_ == memory_kind::staging) {
        staged_sample_nanoseconds_ = nanoseconds;
        staged_sample_ = position;
    } else {
        contents().add_sample(position, nanoseconds);
    }
}

void source_buffer::copy_staged(std::uint32_t from, std::uint32_t units, const chunk& into,
                                std::uint32_t at) const {
    const std::size_t unit = shape_->unit_bytes(channel_);
    const std::uint32_t staged = fill();
    std::memcpy(into.items() + at * unit, items_ + from * unit, units * unit);
    if (tag_bytes() > 0) {
        const std::byte* const tags = cursor_->tags - staged * tag_bytes();
        std::memcpy(into.open_tags() + at * tag_bytes(), tags + from * tag_bytes(),
                    units * tag_bytes());
    }
    if (shape_->source_bytes(channel_) > 0) {
        const std::uint32_t* const sources = cursor_->sources - staged;
        std::memcpy(into.open_sources() + at, sources + from, units * sizeof(std::uint32_t));
    }
    if (staged_sample_nanoseconds_ != 0 && staged_sample_ >= from &&
        staged_sample_ < from + units) {
        into.add_sample(at + staged_sample_ - from, staged_sample_nanoseconds_);
    }
}

}  // namespace crossdock
