/// @file
/// @brief Replays a schedule on a machine, event by event.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/picoseconds.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What is different from ranks that start together on a quiet machine.
struct simulation_options {
    /// When each rank starts; empty: all at 0.
    std::vector<picoseconds> start;
    /// Mean of a random delay, exponentially distributed, of every operation; 0: none.
    picoseconds mean_noise = 0;
    std::uint64_t seed = 0;
    /// Called now and then with the number of operations that are complete; may throw, which ends the
    /// simulation.
    std::function<void(std::size_t)> progress;
};

/// @brief Where the time of all ranks goes, in picoseconds; the sum is the slowest rank's time, for each rank.
///
/// Sums over many ranks may be larger than a time can be.
struct time_shares {
    double copying = 0;
    /// Overheads of messages of each level, and waiting for them.
    std::array<double, num_locality_levels> by_level{};
    /// Before the rank has started, and from its last operation until the slowest rank's.
    double idle = 0;
};

struct simulation {
    std::vector<picoseconds> finish;  ///< of each rank's last operation
    picoseconds slowest = 0;
    double mean = 0;     ///< of `finish`, in picoseconds
    time_shares shares;  ///< of all ranks together
};

/// @brief Replays what all ranks do.
///
/// A rank does one thing at a time, in the order in which it becomes possible. For a message of s bytes
///
///     send       the core is busy for copying and send_overhead
///     way        begins when the rank's and, between nodes, the node's way out is free; its first byte
///                takes the latency, the others (s - 1) seconds_per_byte. A node's way is taken for
///                s injection_seconds_per_byte, out and in
///     receive    the core is busy for receive_overhead, matching_seconds for every receive posted before
///                that still waits (or for every message that came before, if it is late), and copying
///
/// Under rendezvous the way begins no sooner than the receive is posted, as far as the sender knows: what
/// the latency has more than eager's is the handshake, which a late receive begins.
///
/// Where cores are shared, rank r is on core r modulo their number. Its ranks look in turn whether they have
/// something to do, for time_slice_seconds each, and one that has does all of it. There cores also carry the
/// bytes of messages: each end is busy for half of s seconds_per_byte, and links take the latency only.
///
/// The same arguments give the same result.
/// @throws error(errc::size_mismatch)    schedule, layout or start times differ in ranks
/// @throws error(errc::invalid_argument) a peer is no rank; a message has no receive or a receive no
///         message, or their bytes differ; operations wait for each other in a circle
/// @par Complexity
/// Time O(n log n) for n operations, and O(u) for a receive that is posted when u messages wait; memory O(n).
/// @par Source
/// The rules of LogGP as in \cite hoefler2010loggopsim, with one number for the overhead and gap of each
/// side; \cite gropp2016maxrate and \cite bienz2018irregular for the rest.
simulation simulate(const rank_layout& layout, const schedule& s, const machine& m,
                    const simulation_options& options = {});

/// @brief The memory that `simulate` takes, and the schedule itself, for so many operations.
std::size_t simulation_bytes(rank_t num_ranks, std::size_t num_operations) noexcept;

}  // namespace crossdock
