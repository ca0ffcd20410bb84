// Sorts the items of a chunk by the worker they are for.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "stream_chunk.hpp"

namespace crossdock {

class bucket_by_worker {
  public:
    static constexpr std::uint32_t elsewhere = ~std::uint32_t{0};

    // Sorts the items in place, keeping the order of those for one worker, and sets the chunk's
    // offsets. number_of(tag) gives the worker's number in the endpoint, or `elsewhere` for items
    // that travel on: travels_on(position, bytes, tag, source) is called with each of these, in
    // their order, and they are removed. Returns the only worker that has a share, or -1 if several
    // or none have.
    template <class NumberOf, class TravelsOn>
    int divide(const chunk& c, const chunk_layout& shape, const NumberOf& number_of,
               const TravelsOn& travels_on);

    // As `divide`, where tags are numbers of workers of this endpoint.
    int divide_here(const chunk& c, const chunk_layout& shape);

  private:
    int set_offsets(const chunk& c, int group);
    void move_items(const chunk& c, const chunk_layout& shape);
    void move_records(const chunk& c);

    std::vector<std::uint32_t> numbers_;  // per item
    std::vector<std::uint32_t> units_;    // per worker, then where the next one goes
    std::vector<std::byte> items_;        // in order
    std::vector<std::uint32_t> sources_;
};

template <class NumberOf, class TravelsOn>
int bucket_by_worker::divide(const chunk& c, const chunk_layout& shape, const NumberOf& number_of,
                             const TravelsOn& travels_on) {
    const int channel = c.channel();
    const std::uint32_t units = c.head().units;
    with_reserve([&] { units_.assign(static_cast<std::size_t>(shape.group_size()) + 1, 0); });
    std::uint32_t num_left = 0;

    if (shape.has_records(channel)) {
        numbers_.clear();
        for (std::uint32_t at = 0; at < units;) {
            stream_record record;
            std::memcpy(&record, c.items() + at, sizeof record);
            const auto size = static_cast<std::uint32_t>(stream_record::room(record.num_bytes));
            const std::uint32_t number = number_of(record.tag);
            append_with_reserve(numbers_, number);
            if (number == elsewhere) {
                travels_on(at, {c.items() + at + sizeof record, record.num_bytes}, record.tag,
                           record.source);
            } else {
                units_[number] += size;
                ++num_left;
            }
            at += size;
        }
    } else {
        const std::size_t item_bytes = shape.item_bytes(channel);
        const std::uint32_t* const sources =
            shape.source_bytes(channel) > 0 ? c.sources() : nullptr;
        resize_with_reserve(numbers_, units);
        c.for_each_tag([&](std::uint32_t i, std::uint32_t tag) {
            const std::uint32_t number = number_of(tag);
            numbers_[i] = number;
            if (number == elsewhere) {
                travels_on(i, {c.items() + i * item_bytes, item_bytes}, tag,
                           sources != nullptr ? sources[i] : c.head().source);
            } else {
                ++units_[number];
                ++num_left;
            }
        });
    }
    const bool is_complete = num_left == numbers_.size();
    c.head().items = num_left;
    const int only = set_offsets(c, shape.group_size());
    if (only < 0 || !is_complete) {
        if (shape.has_records(channel)) {
            move_records(c);
        } else {
            move_items(c, shape);
        }
    }
    c.head().units = c.offsets()[shape.group_size()];
    return only;
}

}  // namespace crossdock
