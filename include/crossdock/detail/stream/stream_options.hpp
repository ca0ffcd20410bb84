// What a user may choose about a stream, and what it has done so far.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Between whom the items of one buffer travel.
///
/// With t workers in each of N processes, g items in a buffer:
///
/// | scheme | a buffer is filled by | and holds items for | who puts them into order |
/// |---|---|---|---|
/// | `ww` | one worker | one worker | nobody has to |
/// | `wps` | one worker | the workers of one process | a worker there |
/// | `wsp` | one worker | the workers of one process | the sender |
/// | `pp` | the workers of a process | the workers of one process | a worker there |
/// | `node` | the workers of a node | the workers of one node | a worker there |
///
/// Source: \cite chandrasekar2024stream, Sec. III. Differs: a worker of `pp` and `node` stages a few items
/// of its own and takes room for all of them at once, where the study takes room for each item.
enum class stream_scheme { automatic, ww, wps, wsp, pp, node };

/// @brief The scheme's name in lower case: "auto", "ww", "wps", "wsp", "pp", "node".
const char* to_string(stream_scheme scheme) noexcept;

/// @brief Reads a scheme's name, in any case.
/// @throws error(errc::invalid_argument)  no such scheme; the text lists those there are
stream_scheme stream_scheme_from_string(std::string_view name);

/// @brief Whether several workers fill one buffer.
constexpr bool fills_together(stream_scheme scheme) {
    return scheme == stream_scheme::pp || scheme == stream_scheme::node;
}

/// @brief A worker: one thread's end of a stream.
struct worker_id {
    rank_t rank = 0;
    int worker = 0;  ///< from 0, inside the process

    friend bool operator==(const worker_id&, const worker_id&) = default;
};

/// @brief The worker with a number among those of all ranks, which have as many each.
constexpr worker_id worker_of(std::uint32_t number, std::uint32_t num_workers) noexcept {
    return {static_cast<rank_t>(number / num_workers), static_cast<int>(number % num_workers)};
}

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
    /// Any registered route, between processes (nodes for `node`); "auto": what CROSSDOCK_ROUTE says, and else
    /// "direct".
    std::string route = "auto";

    /// @brief g: items of a full buffer, or bytes for items of any size; 0: 64 KiB of them. An item with a codec takes
    /// 16 bytes besides its own, and these as whole groups of 8.
    count_t buffer_items = 0;

    /// @brief Buffers of a worker, those on their way included; 0: 32 more than it fills. When all are in use, the
    /// buffer that was begun first is sent, full or not.
    int max_buffers = 0;

    int priorities =
        1;  ///< 1 or 2: with 2, items pushed as urgent have buffers of their own and overtake

    bool flush_on_idle = true;  ///< `progress()` that finds nothing to do sends what there is
    std::optional<double> max_age_seconds =
        {};  ///< the longest time that an item waits in a buffer

    back_pressure pressure = back_pressure::progress;

    /// @brief Items of one priority from one port to one worker are handled in the order of their pushes.
    ///
    /// Only for `ww`, `wps` and `wsp` on routes of one stage, such as `direct`, `grid:1`, and `hypercube` of two ranks:
    /// items in shared buffers, and items that intermediate ranks forward, overtake each other.
    bool ordered = false;

    /// @brief Handlers may ask who pushed an item. Of items that have combined, it is who pushed the one that the
    /// others joined.
    bool with_source = false;
    bool shared_memory = true;  ///< processes of a node hand buffers over without MPI
    bool progress_thread =
        false;  ///< a thread of the stream drives MPI; needs MPI_THREAD_SERIALIZED

    /// @brief Workers call no MPI: one thread of the process does, for all of them.
    ///
    /// It is the stream's own with `progress_thread`; otherwise one of the user's, which calls the stream's `drive()`
    /// again and again until all drains of this process have ended, and uses no port. Needs MPI_THREAD_FUNNELED; with
    /// less than MPI_THREAD_SERIALIZED it is the main thread, whose calls of a port throw error(errc::invalid_state).
    /// What fails it, all ports of the process throw from then on.
    bool communication_thread = false;

    /// @brief N: every N-th push of a port is timed until its item is handled; 0: none is.
    count_t latency_sample_interval = 0;

    /// @brief What reports call it, as one exchange from its making to its closing. By default the place that makes it.
    std::string name = "";
};

/// @brief What a full buffer holds: items of `item_bytes` bytes, or bytes if that is 0.
constexpr count_t buffer_capacity(const stream_options& options, std::size_t item_bytes) {
    constexpr std::size_t usual_bytes = 64 << 10;
    if (options.buffer_items != 0) return options.buffer_items;
    if (item_bytes == 0) return usual_bytes;
    return static_cast<count_t>(std::clamp<std::size_t>(usual_bytes / item_bytes, 16, 32 << 10));
}

/// @brief Why a buffer left.
enum class flush_cause {
    full,      ///< no room for another item
    request,   ///< `flush()`
    idle,      ///< `progress()` had nothing else to do
    age,       ///< its first item had waited for `max_age_seconds`
    pressure,  ///< all buffers were in use
    urgent,    ///< items pushed as urgent, at the next `progress()`
    drain,     ///< the last ones before `drain()`
};
inline constexpr int num_flush_causes = 7;

/// @brief The cause's name, e.g. "full".
const char* to_string(flush_cause cause) noexcept;

/// @brief Counts times in classes whose width is 1/32 of their power of two of nanoseconds. Add up one for each thread.
///
/// | nanoseconds | width of a class |
/// |---|---|
/// | 0 to 63 | 1 |
/// | 64 to 127 | 2 |
/// | 2^k to 2^(k+1) - 1 | 2^(k-5) |
class latency_histogram {
  public:
    /// @brief One class that is not empty, for plots.
    struct bucket {
        double least_seconds;
        double most_seconds;  ///< exclusive
        std::int64_t count;

        friend bool operator==(const bucket&, const bucket&) = default;
    };

    /// @param nanoseconds  below 0 counts as 0: clocks of two ranks may disagree by their error
    void add(std::int64_t nanoseconds) noexcept;

    /// @brief Adds all counts of `other`.
    void add(const latency_histogram& other) noexcept;

    std::int64_t count() const noexcept { return count_; }

    /// @brief The largest time, exactly. 0 if empty.
    double max_seconds() const noexcept { return 1e-9 * static_cast<double>(max_nanoseconds_); }

    /// @brief The time that a share of all, in [0, 1], does not exceed: the upper end of its class, or the maximum if
    /// that is less. 0 if empty.
    double quantile_seconds(double share) const noexcept;

    /// @brief The classes that are not empty, from the shortest time.
    std::vector<bucket> buckets() const;

    /// @brief All counts, then the maximum: words that may be summed and maximised over ranks.
    static constexpr int num_classes = 64 + 32 * 57;
    const std::array<std::int64_t, num_classes>& counts() const noexcept { return counts_; }
    std::int64_t max_nanoseconds() const noexcept { return max_nanoseconds_; }

  private:
    static int class_of(std::int64_t nanoseconds) noexcept;
    static std::uint64_t least_of(int number) noexcept;

    std::array<std::int64_t, num_classes> counts_{};
    std::int64_t count_ = 0;
    std::int64_t max_nanoseconds_ = 0;
};

/// @brief Counts of one port, or of several added up.
struct stream_statistics {
    count_t items = 0;      ///< pushed here
    count_t combined = 0;   ///< of all pushed or forwarded, those that became part of another
    count_t handled = 0;    ///< given to handlers
    count_t forwarded = 0;  ///< that travelled on from here
    count_t hops = 0;       ///< travelled by the items handled here; 1 each on a route of one hop
    count_t messages = 0;   ///< buffers that left, also to workers that share memory
    count_t mpi_messages = 0;   ///< of those, sent by MPI
    count_t mpi_bytes = 0;      ///< in them
    count_t message_items = 0;  ///< in all buffers that left
    std::array<count_t, num_flush_causes> messages_by_cause{};
    count_t overflow_buffers = 0;  ///< that handlers took beyond the bound
    count_t waits = 0;             ///< pushes that waited for a buffer
    count_t peak_buffers = 0;      ///< filled at the same time; of several ports, their sum
    latency_histogram latency;     ///< of the sampled items handled here

    /// @brief Items in a message, on average; 0 without messages.
    double mean_fill() const noexcept {
        return messages == 0 ? 0
                             : static_cast<double>(message_items) / static_cast<double>(messages);
    }

    count_t messages_of(flush_cause cause) const noexcept {
        return messages_by_cause[static_cast<std::size_t>(cause)];
    }

    stream_statistics& operator+=(const stream_statistics& other) noexcept;
};

}  // namespace crossdock
