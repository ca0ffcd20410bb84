#include "request_layout.hpp"

namespace crossdock {

namespace {

std::size_t padded(std::size_t bytes) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

template <class Index>
request_layout<Index>::request_layout(const request_traits& kind, std::size_t num_requests)
    : num_requests_(num_requests),
      num_return_slots_(kind.has_return_slots() ? num_requests : 0),
      value_bytes_(kind.value_bytes()),
      return_slots_begin_(padded(num_requests * sizeof(Index))),
      values_begin_(return_slots_begin_ + padded(num_return_slots_ * sizeof(position_t))),
      end_(values_begin_ + padded(num_requests * value_bytes_)) {}

template <class Index>
void request_layout<Index>::encode(std::span<const position_range> ranges,
                                   std::span<const Index> indices, const std::byte* values,
                                   std::byte* to) const {
    gather_ranges(ranges, indices.data(), sizeof(Index), to);
    if (num_return_slots_ > 0) {
        auto* slot = reinterpret_cast<position_t*>(to + return_slots_begin_);
        for (const auto& [first, length] : ranges) {
            std::iota(slot, slot + length, static_cast<position_t>(first));
            slot += length;
        }
    }
    if (value_bytes_ > 0) gather_ranges(ranges, values, value_bytes_, to + values_begin_);
}

template <class Index>
request_list<Index> request_layout<Index>::decode(const std::byte* from, bool is_sorted) const {
    return {std::span(reinterpret_cast<const Index*>(from), num_requests_),
            std::span(reinterpret_cast<const position_t*>(from + return_slots_begin_),
                      num_return_slots_),
            value_bytes_ > 0 ? from + values_begin_ : nullptr, is_sorted};
}

reply_layout::reply_layout(const request_traits& kind, std::size_t num_requests)
    : num_return_slots_(kind.has_return_slots() ? num_requests : 0),
      values_begin_(padded(num_return_slots_ * sizeof(position_t))),
      end_(values_begin_ + num_requests * kind.reply_bytes) {}

void reply_layout::encode_return_slots(std::span<const position_t> slots, std::byte* to) const {
    if (num_return_slots_ > 0) std::memcpy(to, slots.data(), slots.size_bytes());
}

std::span<const position_t> reply_layout::return_slots(const std::byte* from) const {
    return std::span(reinterpret_cast<const position_t*>(from), num_return_slots_);
}

template class request_layout<std::uint32_t>;
template class request_layout<std::uint64_t>;

}  // namespace crossdock
