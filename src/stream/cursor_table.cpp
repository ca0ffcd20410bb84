#include "cursor_table.hpp"

#include <algorithm>
#include <bit>

namespace crossdock {

cursor_table::cursor_table(push_state& push, const stream_layout& layout, const chunk_layout& shape,
                           std::uint32_t own_number)
    : push_(push) {
    push_.targets = layout.targets().data();
    push_.num_ranks = static_cast<unsigned>(layout.num_ranks());
    push_.last_worker = static_cast<unsigned>(layout.num_workers() - 1);
    push_.num_buffers = static_cast<std::uint32_t>(layout.buffers().size());
    push_.per_worker_mask = layout.is_per_worker() ? ~std::uint32_t{0} : 0;
    push_.own_number = own_number;
    for (int c = 0; c < shape.num_channels(); ++c) {
        push_.tag_bytes = std::max(push_.tag_bytes, shape.tag_bytes(c));
        push_.keeps_sources = push_.keeps_sources || shape.source_bytes(c) > 0;
    }
    if (push_.tag_bytes > 0 || push_.keeps_sources) {
        const bool is_number = push_.tag_bytes == 2 && !push_.keeps_sources;
        push_.tags = is_number ? tag_kind::number : tag_kind::any;
    }

    cursors_.resize(layout.buffers().size() * static_cast<std::size_t>(shape.num_channels()));
    make_closed(shape);
    make_waiting(shape);
    for (std::size_t i = 0; i < size(); ++i) cursors_[i] = closed(channel_of(i));
    refused_ = cursors_;
    for (const stream_layout::target& target : layout.targets()) {
        first_cursors_.push_back(&cursors_[target.buffer]);
        first_refused_.push_back(&refused_[target.buffer]);
    }
    set_refusing(false);
}

void cursor_table::make_closed(const chunk_layout& shape) {
    std::size_t largest = 1;
    for (int c = 0; c < shape.num_channels(); ++c) {
        largest = std::max(largest, shape.item_bytes(c));
    }
    const std::size_t tag_at = (largest + 7) / 8 * 8;
    scratch_.resize(tag_at + sizeof(std::uint32_t));
    for (int c = 0; c < shape.num_channels(); ++c) {
        closed_.push_back({scratch_.data(), scratch_.data() + shape.item_bytes(c),
                           scratch_.data() + tag_at, &scratch_source_});
    }
}

void cursor_table::make_waiting(const chunk_layout& shape) {
    std::uint32_t largest_capacity = 0;
    for (int c = 0; c < shape.num_channels(); ++c) {
        if (shape.channel(c).combines) {
            largest_capacity = std::max(largest_capacity, shape.capacity(c));
        }
    }
    if (largest_capacity == 0) return;
    const std::size_t slots = std::bit_ceil(std::size_t{2} * largest_capacity);
    positions_.resize(slots * size());
    waiting_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) waiting_[i].positions = positions_.data() + i * slots;
    push_.position_mask = static_cast<std::uint32_t>(slots - 1);
    push_.waiting = waiting_.data();
}

std::size_t cursor_table::index_for(int channel, worker_id to) const noexcept {
    return static_cast<std::size_t>(channel) * push_.num_buffers + push_.targets[to.rank].buffer +
           (static_cast<std::uint32_t>(to.worker) & push_.per_worker_mask);
}

void cursor_table::set_refusing(bool is_refusing) noexcept {
    push_.is_refusing = is_refusing;
    push_.cursors = is_refusing ? refused_.data() : cursors_.data();
    push_.first_cursors = is_refusing ? first_refused_.data() : first_cursors_.data();
}

void cursor_table::reset_refused(stream_cursor& open) noexcept {
    open = closed(channel_of(static_cast<std::size_t>(&open - refused_.data())));
}

}  // namespace crossdock
