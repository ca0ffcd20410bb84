/// @file
/// @brief What a stream has done so far.
#pragma once

#include <array>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/latency_histogram.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

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
