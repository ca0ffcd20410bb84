/// @file
/// @brief The buffers of a stream on a described machine, filling and leaving event by event.
#pragma once

#include <cstdint>
#include <optional>

#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/machine.hpp"
#include "src/stream/scheme.hpp"

namespace crossdock::bench::studies {

/// @brief What is replayed.
struct stream_setting {
    int nodes = 64;
    int processes = 8;  ///< of a node
    int workers = 8;    ///< of a process
    stream_scheme scheme = stream_scheme::wps;
    count_t buffer_items = 1024;
    /// Under `pp` a worker takes room in a shared buffer for so many items at once; 1: as the study.
    count_t collected_items = 1;
    count_t items = count_t{1} << 20;  ///< that a worker pushes, each to any worker
    count_t item_bytes = 8;
    /// A worker's core for an item: to draw and to push it, and again to handle it.
    double item_seconds = 4e-8;
    /// Every item is answered: by another of as many bytes to whom it came from.
    bool is_answered = false;
    /// A thread of each process, on a core of its own, sends and receives the messages of its workers.
    bool has_communication_thread = false;
    /// A core, to send a message and again to receive it; without a value the machine's overheads.
    std::optional<double> message_seconds;
    double message_seconds_per_byte = 0;  ///< on top
    std::uint64_t seed = 1;
};

/// @brief What one node did; messages are those of items and of answers.
struct stream_outcome {
    count_t least_messages = 0;  ///< of items, of the source that sends fewest
    count_t most_messages = 0;   ///< of the one that sends most
    count_t messages = 0;        ///< of items, of all sources of the node
    count_t answer_messages = 0;
    count_t full_messages = 0;  ///< of items; the others left at the end
    count_t most_buffered = 0;  ///< items that the buffers of one process held at one time
    count_t num_latencies = 0;
    double mean_latency_seconds =
        0;  ///< from push until handled; of answered items until the answer is
    latency_histogram latencies;
    double pushing_seconds = 0;     ///< until a worker has pushed all its items, on average
    double seconds = 0;             ///< until the last worker is done
    double overhead_seconds = 0;    ///< of a core for one item, besides `item_seconds`
    double contention_seconds = 0;  ///< of it: room in shared buffers
    double thread_seconds = 0;      ///< that the busiest communication thread was at work
};

/// @brief Replays the workers of one node, of which all others are taken to be copies.
///
/// For every message that a rank sends a like one comes to it, at the time when its own arrives: that is what
/// uniform destinations make of all nodes together.
///
///     push     item_seconds, and under `pp`, once for `collected_items` that go the same way,
///              hand_over_seconds if another worker was the buffer's last
///     leave    send_overhead; under `wsp` an item is copied once, into order. With a communication
///              thread hand_over_seconds: the thread sends, what comes first first, to other processes
///     way      the node's way out, one message after the other; latency and bytes as the machine says;
///              within a process hand_over_seconds
///     arrive   receive_overhead of one worker, or of the thread, and hand_over_seconds then;
///              under `wps` and `pp` one worker copies every item into order;
///              each worker's share is its own after hand_over_seconds
///     handle   item_seconds for each item, one after the other
///
/// A worker that has pushed all its items sends what is left in its buffers, one after the other; the last
/// one of a process does so under `pp`. Workers run ahead of each other by hand_over_seconds at most.
/// @param s  of a scheme that is not `automatic` or `node`
stream_outcome replay_stream(const stream_setting& s, const machine& m);

}  // namespace crossdock::bench::studies
