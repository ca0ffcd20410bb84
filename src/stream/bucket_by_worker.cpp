#include "bucket_by_worker.hpp"

#include <cstring>

#include "../base/item_bytes.hpp"

namespace crossdock {

namespace {

template <class Use>
void with_tags(const chunk& c, const chunk_layout& shape, const Use& use) {
    if (shape.tag_bytes(c.channel()) == 2) {
        use(reinterpret_cast<const std::uint16_t*>(c.tags()));
    } else {
        use(reinterpret_cast<const std::uint32_t*>(c.tags()));
    }
}

}  // namespace

// A counting sort: two passes over all items, of a few instructions for each.
int bucket_by_worker::divide_here(const chunk& c, const chunk_layout& shape) {
    const int channel = c.channel();
    if (shape.has_records(channel)) {
        return divide(
            c, shape, [](std::uint32_t tag) { return tag; },
            [](std::uint32_t, std::span<const std::byte>, std::uint32_t, std::uint32_t) {});
    }
    const std::uint32_t units = c.head().units;
    const bool has_sources = shape.source_bytes(channel) > 0;
    with_reserve([&] { units_.assign(static_cast<std::size_t>(shape.group_size()) + 1, 0); });
    int only = -1;
    with_tags(c, shape, [&](const auto* tags) {
        std::uint32_t* const next = units_.data();
        for (std::uint32_t i = 0; i < units; ++i) ++next[tags[i]];
        only = set_offsets(c, shape.group_size());
        if (only >= 0) return;
        resize_with_reserve(items_, units * shape.item_bytes(channel));
        resize_with_reserve(sources_, has_sources ? units : 0);
        std::byte* const into = items_.data();
        const std::byte* const from = c.items();
        with_item_bytes(shape.item_bytes(channel), [&](auto bytes) {
            const std::size_t size = bytes;
            if (has_sources) {
                for (std::uint32_t i = 0; i < units; ++i) {
                    const std::uint32_t to = next[tags[i]]++;
                    std::memcpy(into + to * size, from + i * size, size);
                    sources_[to] = c.sources()[i];
                }
            } else {
                for (std::uint32_t i = 0; i < units; ++i) {
                    std::memcpy(into + next[tags[i]]++ * size, from + i * size, size);
                }
            }
        });
        std::memcpy(c.items(), items_.data(), items_.size());
        if (has_sources) std::memcpy(c.sources(), sources_.data(), units * sizeof(std::uint32_t));
    });
    return only;
}

// Turns the number of units of each worker into where its next item goes.
int bucket_by_worker::set_offsets(const chunk& c, int group) {
    int only = -1;
    int num_shares = 0;
    std::uint32_t sum = 0;
    for (int w = 0; w < group; ++w) {
        std::uint32_t& units = units_[static_cast<std::size_t>(w)];
        if (units > 0) {
            only = w;
            ++num_shares;
        }
        c.offsets()[w] = sum;
        sum += units;
        units = c.offsets()[w];
    }
    c.offsets()[group] = sum;
    return num_shares == 1 ? only : -1;
}

void bucket_by_worker::move_items(const chunk& c, const chunk_layout& shape) {
    const int channel = c.channel();
    const std::size_t item_bytes = shape.item_bytes(channel);
    const std::uint32_t num_left = c.head().items;
    if (num_left == 0) return;
    const bool has_sources = shape.source_bytes(channel) > 0;
    resize_with_reserve(items_, num_left * item_bytes);
    resize_with_reserve(sources_, has_sources ? num_left : 0);
    std::byte* const into = items_.data();
    std::uint32_t* const next = units_.data();
    const std::byte* const from = c.items();
    const std::uint32_t* const sources = c.sources();
    with_item_bytes(item_bytes, [&](auto bytes) {
        const std::size_t size = bytes;
        for (std::size_t i = 0; i < numbers_.size(); ++i) {
            if (numbers_[i] == elsewhere) continue;
            const std::uint32_t to = next[numbers_[i]]++;
            std::memcpy(into + to * size, from + i * size, size);
            if (has_sources) sources_[to] = sources[i];
        }
    });
    std::memcpy(c.items(), items_.data(), items_.size());
    c.head().units = num_left;  // it says where the sources lie
    if (has_sources) std::memcpy(c.sources(), sources_.data(), num_left * sizeof(std::uint32_t));
}

void bucket_by_worker::move_records(const chunk& c) {
    resize_with_reserve(items_, c.head().units);
    std::uint32_t at = 0;
    for (const std::uint32_t number : numbers_) {
        stream_record record;
        std::memcpy(&record, c.items() + at, sizeof record);
        const auto size = static_cast<std::uint32_t>(stream_record::room(record.num_bytes));
        if (number != elsewhere) {
            std::memcpy(items_.data() + units_[number], c.items() + at, size);
            units_[number] += size;
        }
        at += size;
    }
    std::memcpy(c.items(), items_.data(), items_.size());
}

}  // namespace crossdock
