/// @file
/// @brief What a user may choose about a stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/scheme.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A worker: one thread's end of a stream.
struct worker_id {
    rank_t rank = 0;
    int worker = 0;  ///< from 0, inside the process

    friend bool operator==(const worker_id&, const worker_id&) = default;
};

/// @brief What a push does when all buffers of its worker are in use.
enum class back_pressure {
    progress,  ///< runs handlers until one is free; so does, once, every push that fills a buffer
    block,     ///< waits without running a handler; what comes is kept
    fail,      ///< throws; `try_push` returns false instead
};

/// @brief How a stream collects, sends and delivers. Equal on all ranks but for `pressure`.
struct stream_options {
    int workers = 1;  ///< threads of a process that push and handle, each through its own port
    stream_scheme scheme =
        stream_scheme::automatic;  ///< `node` needs shared memory, or nodes of one rank
    /// Any registered route, between processes (nodes for `node`); "auto": what CROSSDOCK_ROUTE
    /// says, and else "direct".
    std::string route = "auto";

    /// @brief g: items of a full buffer, or bytes for items of any size; 0: 64 KiB of them.
    ///
    /// An item with a codec takes 16 bytes besides its own, and these as whole groups of 8.
    count_t buffer_items = 0;

    /// @brief Buffers of a worker, those on their way included; 0: 32 more than it fills.
    ///
    /// When all are in use, the buffer that was begun first is sent, full or not.
    int max_buffers = 0;

    int priorities =
        1;  ///< 1 or 2: with 2, items pushed as urgent have buffers of their own and overtake

    bool flush_on_idle = true;  ///< `progress()` that finds nothing to do sends what there is
    std::optional<double> max_age_seconds =
        {};  ///< the longest time that an item waits in a buffer

    back_pressure pressure = back_pressure::progress;

    /// @brief Items from one port to one worker are handled in the order of their pushes.
    ///
    /// Of the same priority, that is. Only for `ww`, `wps` and `wsp` on routes of one stage, such
    /// as `direct`, `grid:1`, and `hypercube` of two ranks: items in shared buffers, and items that
    /// intermediate ranks forward, overtake each other.
    bool ordered = false;

    /// @brief Handlers may ask who pushed an item. Of items that have combined, it is who pushed
    /// the one that the others joined.
    bool with_source = false;
    bool shared_memory = true;  ///< processes of a node hand buffers over without MPI
    bool progress_thread =
        false;  ///< a thread of the stream drives MPI; needs MPI_THREAD_SERIALIZED

    /// @brief Workers call no MPI: one thread of the process does, for all of them.
    ///
    /// It is the stream's own with `progress_thread`; otherwise one of the user's, which calls the
    /// stream's `progress()` again and again until all drains of this process have ended, and uses
    /// no port. Needs MPI_THREAD_FUNNELED; with less than MPI_THREAD_SERIALIZED it is the main
    /// thread, whose calls of a port throw error(errc::invalid_state). What fails it, all ports of
    /// the process throw from then on.
    bool communication_thread = false;

    /// @brief N: every N-th push of a port is timed until its item is handled; 0: none is.
    count_t latency_sample_interval = 0;
};

/// @brief What a full buffer holds: items of `item_bytes` bytes, or bytes if that is 0.
constexpr count_t buffer_capacity(const stream_options& options, std::size_t item_bytes) {
    constexpr std::size_t usual_bytes = 64 << 10;
    if (options.buffer_items != 0) return options.buffer_items;
    if (item_bytes == 0) return usual_bytes;
    return static_cast<count_t>(std::clamp<std::size_t>(usual_bytes / item_bytes, 16, 32 << 10));
}

}  // namespace crossdock
