// What sends chunks to processes that share no memory with this one, and sums numbers over all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stream_chunk.hpp"

namespace crossdock {

// What a process contributes to a wave of the termination detector.
struct wave_sums {
    std::int64_t sent = 0;
    std::int64_t handled = 0;
    std::int64_t failed = 0;  // 1 + the highest rank with a handler that has thrown, or 0
};

// One thread at a time calls it.
class stream_transport {
  public:
    virtual ~stream_transport() = default;

    struct events {
        std::vector<chunk_ref> sent;     // whose memory is free again
        std::vector<chunk_ref> arrived;  // filled with a message
    };

    // Reads the message's memory until `poll` reports the chunk as sent.
    virtual void send(chunk_ref ref, std::span<const std::byte> message, rank_t destination,
                      bool is_urgent) = 0;
    // Receives one message into `room`; `poll` reports that.
    virtual void receive(chunk_ref ref, std::span<std::byte> room) = 0;
    virtual void poll(events& into) = 0;
    // Makes progress on other messages of the process, which `poll` does not while nothing of the
    // stream is under way.
    virtual void progress() = 0;

    // A wave sums the numbers of all processes, and takes the maximum of `failed`. The next one
    // begins when `test_wave` has returned the last one's sums.
    virtual void start_wave(const wave_sums& own) = 0;
    virtual std::optional<wave_sums> test_wave() = 0;
};

}  // namespace crossdock
