#include "held_requests.hpp"

#include "../base/item_bytes.hpp"
#include "entry_owner.hpp"
#include "request_layout.hpp"

namespace crossdock {

namespace {

// to[k] = from[positions[k]]
void gather(std::byte* to, const std::byte* from, std::span<const position_t> positions,
            std::size_t item_bytes) {
    with_item_bytes(item_bytes, [&](auto bytes) {
        for (std::size_t k = 0; k < positions.size(); ++k)
            std::memcpy(to + k * bytes, from + static_cast<std::size_t>(positions[k]) * bytes,
                        bytes);
    });
}

// to[positions[k]] = from[k]
void scatter(std::byte* to, const std::byte* from, std::span<const position_t> positions,
             std::size_t item_bytes) {
    with_item_bytes(item_bytes, [&](auto bytes) {
        for (std::size_t k = 0; k < positions.size(); ++k)
            std::memcpy(to + static_cast<std::size_t>(positions[k]) * bytes, from + k * bytes,
                        bytes);
    });
}

}  // namespace

template <class Index>
held_requests<Index>::held_requests(const batch_route& routing, const request_traits& kind,
                                    std::size_t number, std::pmr::memory_resource* memory)
    : routing_(routing),
      kind_(kind),
      number_(number),
      memory_(memory),
      held_(memory),
      stayed_(memory) {}

template <class Index>
void held_requests<Index>::take(std::vector<request_list<Index>>&& lists) {
    lists_ = std::move(lists);
    const std::size_t num_stages = routing_.num_stages();
    if (!kind_.is_combined_at(number_, num_stages)) return;
    held_.combine(kind_.strategy_at(number_, num_stages), lists_, routing_.owners.num_entries());
    if (number_ < num_stages) {
        outgoing_ =
            held_.is_sorted()
                ? requests_by_destination::of_sorted(routing_, number_, std::span(held_.indices()))
                : requests_by_destination::group(routing_, number_, held_, memory_);
    }
    if (kind_.has_values()) combine_values();
}

template <class Index>
void held_requests<Index>::combine_values() {
    const auto num_held = static_cast<std::size_t>(held_.size());
    const std::size_t value_bytes = kind_.value_bytes();
    values_ = raw_buffer(num_held * value_bytes, memory_);
    std::pmr::vector<std::uint8_t> is_set(memory_);
    if (!kind_.operation->fill_with_identity(values_.data(), num_held)) is_set.resize(num_held);
    for (std::size_t l = 0; l < lists_.size(); ++l) {
        const auto& list = lists_[l];
        held_.for_each_stretch(
            l, list.indices, [&](std::size_t first, std::span<const position_t> positions) {
                std::size_t failed_at = 0;
                try {
                    kind_.operation->combine(values_.data(), is_set.data(),
                                             list.values + first * value_bytes, positions,
                                             failed_at);
                } catch (...) {
                    throw operation_error(routing_.here,
                                          static_cast<count_t>(list.indices[first + failed_at]));
                }
            });
    }
}

template <class Index>
count_t held_requests<Index>::num_taken() const noexcept {
    std::size_t result = 0;
    for (const auto& list : lists_) result += list.indices.size();
    return static_cast<count_t>(result);
}

template <class Index>
void held_requests<Index>::pack(std::size_t d, std::byte* to) const {
    request_layout<Index>(kind_, num_requests(d))
        .encode(outgoing_.to(d), held_.indices(), values_.data(), to);
}

template <class Index>
request_list<Index> held_requests<Index>::stay() {
    const auto ranges = outgoing_.staying();
    const std::size_t value_bytes = kind_.value_bytes();
    const bool is_sorted = kind_.is_sorted_at(number_, routing_.num_stages());
    if (ranges.empty()) return {{}, {}, nullptr, is_sorted};
    if (ranges.size() == 1) {
        const auto [first, length] = ranges.front();
        return {std::span(held_.indices()).subspan(first, length),
                {},
                values_.data() + first * value_bytes,
                is_sorted};
    }
    stayed_.resize(total_length(ranges));
    gather_ranges(ranges, held_.indices().data(), sizeof(Index),
                  reinterpret_cast<std::byte*>(stayed_.data()));
    stayed_values_ = raw_buffer(stayed_.size() * value_bytes, memory_);
    gather_ranges(ranges, values_.data(), value_bytes, stayed_values_.data());
    return {stayed_, {}, stayed_values_.data(), is_sorted};
}

template <class Index>
void held_requests<Index>::take_replies(std::size_t d, const std::byte* from) {
    const reply_layout message(kind_, num_requests(d));
    const auto slots = message.return_slots(from);
    const auto* const values = from + message.values_begin();
    if (slots.empty()) {
        scatter_ranges(outgoing_.to(d), values, kind_.reply_bytes, replies_.data());
    } else {
        scatter(replies_.data(), values, slots, kind_.reply_bytes);
    }
}

template <class Index>
void held_requests<Index>::copy_replies(std::size_t list, std::byte* to) const {
    const std::size_t item_bytes = kind_.reply_bytes;
    held_.for_each_stretch(
        list, lists_[list].indices, [&](std::size_t first, std::span<const position_t> positions) {
            gather(to + first * item_bytes, replies_.data(), positions, item_bytes);
        });
}

template class held_requests<std::uint32_t>;
template class held_requests<std::uint64_t>;

}  // namespace crossdock
