#include "crossdock/detail/stream/stream_options.hpp"

namespace crossdock {

const char* to_string(flush_cause cause) noexcept {
    constexpr std::array<const char*, num_flush_causes> names{"full",     "request", "idle", "age",
                                                              "pressure", "urgent",  "drain"};
    return names[static_cast<std::size_t>(cause)];
}

stream_statistics& stream_statistics::operator+=(const stream_statistics& other) noexcept {
    items += other.items;
    combined += other.combined;
    handled += other.handled;
    forwarded += other.forwarded;
    hops += other.hops;
    messages += other.messages;
    mpi_messages += other.mpi_messages;
    mpi_bytes += other.mpi_bytes;
    message_items += other.message_items;
    for (std::size_t i = 0; i < messages_by_cause.size(); ++i) {
        messages_by_cause[i] += other.messages_by_cause[i];
    }
    overflow_buffers += other.overflow_buffers;
    waits += other.waits;
    peak_buffers += other.peak_buffers;
    latency.add(other.latency);
    return *this;
}

}  // namespace crossdock
