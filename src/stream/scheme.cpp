#include "scheme.hpp"

#include <algorithm>
#include <array>

#include "../select/buffer_choice.hpp"
#include "source_buffer.hpp"

namespace crossdock {

namespace {

// Buffers that one source fills.
count_t num_buffers(stream_scheme scheme, count_t num_endpoints, int num_workers) {
    return scheme == stream_scheme::ww ? num_endpoints * num_workers : num_endpoints;
}

// Of g N items of a worker.
buffering buffering_of(stream_scheme scheme, const stream_shape& shape) {
    const auto [num_endpoints, num_workers, buffer_items, item_bytes] = shape;
    const bool is_ww = scheme == stream_scheme::ww;
    const count_t held = max_buffered_items(scheme, buffer_items, num_endpoints, num_workers);
    const auto per_item = [&, items = buffer_items](double number) {
        return number / static_cast<double>(items);
    };
    buffering way;
    way.buffer_bytes = item_bytes * (is_ww ? held / num_workers : held);
    way.most_buffer_bytes = is_ww ? most_bytes_of_a_worker : most_bytes_of_a_process;
    way.messages = per_item(is_ww ? num_workers : 1);
    if (is_ww) return way;
    way.copies = 1;
    way.hand_overs = per_item(num_workers - 1);
    if (fills_together(scheme))
        way.hand_overs += static_cast<double>(item_bytes) / static_cast<double>(staged_bytes);
    return way;
}

}  // namespace

count_t max_buffered_items(stream_scheme scheme, count_t buffer_items, count_t num_endpoints,
                           int num_workers) {
    const count_t sources = fills_together(scheme) ? 1 : num_workers;
    return buffer_items * num_buffers(scheme, num_endpoints, num_workers) * sources;
}

message_bounds stream_message_bounds(stream_scheme scheme, count_t num_items, count_t buffer_items,
                                     count_t num_endpoints, int num_workers) {
    const count_t full = num_items / buffer_items;
    const count_t least = full + (num_items % buffer_items == 0 ? 0 : 1);
    return {least, full + std::min(num_items, num_buffers(scheme, num_endpoints, num_workers))};
}

stream_scheme choose_stream_scheme(const stream_shape& shape, const machine& m) {
    if (shape.num_workers == 1) return stream_scheme::ww;
    constexpr std::array candidates{stream_scheme::ww, stream_scheme::wps, stream_scheme::pp};
    std::array<buffering, candidates.size()> ways;
    std::ranges::transform(candidates, ways.begin(),
                           [&](stream_scheme scheme) { return buffering_of(scheme, shape); });
    return candidates[choose_buffering(ways, shape.item_bytes, m)];
}

}  // namespace crossdock
