#include "stream_forwarder.hpp"

namespace crossdock {

void stream_forwarder::forward(int channel, int stage, int endpoint, const forwarded_item& item) {
    const stream_layout& layout = state_.layout();
    const int worker =
        layout.is_per_worker() ? static_cast<int>(item.tag) % layout.num_workers() : 0;
    const std::size_t index = static_cast<std::size_t>(channel) * layout.buffers().size() +
                              layout.buffer_on_the_way(stage, endpoint) +
                              static_cast<std::size_t>(worker);
    ++state_.statistics.forwarded;
    if (state_.shape().has_records(channel)) {
        filling_buffers_.append_record(index, item, true);
    } else {
        append(index, item);
    }
}

void stream_forwarder::append(std::size_t index, const forwarded_item& item) {
    source_buffer& buffer = filling_buffers_[index];
    if (buffer.is_closed()) filling_buffers_.begin(index);
    if (state_.shape().channel(buffer.channel()).combines && combine(index, item)) return;
    buffer.append(item);
    if (buffer.is_full()) filling_buffers_.finish_forwarded(index);
}

bool stream_forwarder::combine(std::size_t index, const forwarded_item& item) {
    const stream_sink& sink = state_.engine.sink();
    const auto key_of = [&](const std::byte* waiting) { return sink.key(waiting); };
    const auto into = [&](std::byte* waiting) { sink.combine(waiting, item.bytes.data()); };
    const std::int64_t pushed_and_combined = worker_.push_.num_combined;
    try {
        const stream_layout::target tag{0, item.tag};
        if (!worker_.combine_waiting({&filling_buffers_.cursors()[index], &tag, 0},
                                     item.bytes.size(), sink.key(item.bytes.data()), key_of,
                                     into)) {
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

}  // namespace crossdock
