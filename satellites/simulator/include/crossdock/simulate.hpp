/// @file
/// @brief A discrete-event simulator: replays a schedule on a machine.
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

/// @brief What the bytes of a message keep busy.
enum class charging : std::uint8_t {
    links,  ///< the links of both ranks and of their nodes; cores have the overheads only
    loggp,  ///< the receiver's core, and the network interfaces of both ranks, as LogGOPSim charges LogGP
};

/// @brief When ranks start, how noisy the machine is, and how messages are charged. By default all start at 0
/// and there is no noise.
struct simulation_options {
    /// The start of each rank; empty: all start at 0.
    std::vector<picoseconds> start;
    /// The mean of a random delay, exponentially distributed, which every operation gets; 0: none.
    picoseconds mean_noise = 0;
    std::uint64_t seed = 0;
    /// The simulation calls this from time to time with the number of complete operations. It ends
    /// if this throws.
    std::function<void(std::size_t)> progress;
    charging charge = charging::links;
    /// LogGP's g, for `charging::loggp`: how long a message of one byte keeps a network interface busy.
    picoseconds gap = 0;
};

/// @brief What ranks spend their time on, in picoseconds. All shares of a rank add up to the
/// slowest rank's time.
///
/// These are `double`, as sums over many ranks can be more than `picoseconds` hold.
struct time_shares {
    double copying = 0;
    /// Overheads of messages, and waiting for them, by locality.
    std::array<double, num_locality_levels> by_level{};
    /// Before the rank has started, and from its last operation until the slowest rank is done.
    double idle = 0;
};

/// @brief The result of a simulation.
struct simulation {
    std::vector<picoseconds> finish;  ///< the end of each rank's last operation
    picoseconds slowest = 0;
    double mean = 0;     ///< of `finish`, in picoseconds
    time_shares shares;  ///< of all ranks together
};

/// @brief Replays the operations of all ranks on a machine.
///
/// A rank does one operation at a time, in the order in which they become possible. For a message
/// of s bytes
///
///     send       the sender's core is busy for copying and send_overhead
///     way        begins when the sender's link out is free and, between nodes, its node's as well.
///                The first byte takes the latency, the others (s - 1) seconds_per_byte; the links
///                of nodes, out and in, are busy for s injection_seconds_per_byte
///     receive    the receiver's core is busy for receive_overhead, matching, and copying
///
/// Matching takes `matching_seconds` for each receive that was posted before and still waits. If
/// the message comes before its receive is posted, it takes that for each message that came before
/// and has no receive yet; so it does if the message is `probed` for. Searches that find nothing are free.
///
/// Under rendezvous the sender sends a request, which takes the eager latency. If the receive is
/// posted by then, the message takes the rendezvous latency from its send on. Otherwise its way
/// begins when the receive is posted, and takes the handshake: what the rendezvous latency has more
/// than the eager one.
///
/// Where ranks share cores, rank r is on core r modulo the number of cores. The ranks of a core
/// take turns: each looks for `time_slice_seconds` whether it has something to do, and if so does
/// all of it. Cores then also move the bytes of messages: each end is busy for half of s
/// `seconds_per_byte`, and links take the latency only.
///
/// With `charging::loggp`, for comparison with simulators of that model, the parts are
///
///     copy       the core is busy
///     send       begins when the core and the sending side of the rank's network interface are free. The core
///                is busy for send_overhead, the interface for gap + (s - 1) seconds_per_byte. The first byte
///                takes send_overhead and the latency
///     receive    begins when the first byte has come, posted or not, and the core and the receiving side of
///                the interface are free. The core is busy for receive_overhead + (s - 1) seconds_per_byte,
///                the interface for gap + (s - 1) seconds_per_byte
///
/// The numbers are those of the eager protocol, whatever the size. Under rendezvous a message travels as others
/// do, but what requires its send waits until it is received and its receive posted, and so do the sender's core
/// and interface from then on. What waits for a core begins in the order in which it came to be: a
/// message when it was sent, all else when it became possible; at the same moment sends come first, copies
/// last. Nothing searches, nodes have no limit, and what is handed over is a message.
///
/// The same arguments give the same result.
/// @throws error(errc::size_mismatch)    schedule, layout and start times differ in their number of
///          ranks
/// @throws error(errc::invalid_argument) `charging::loggp` on a machine whose ranks share cores
/// @throws error(errc::invalid_argument) a peer is not a rank; a message has no receive, or a
///          receive no message; the bytes of the two differ; or operations wait for each other in a
///          cycle
/// @par Complexity
/// Time O(n log n) for n operations, and O(u) for a receive that is posted when u messages wait.
/// Memory O(n).
/// @par Source
/// LogGP as in \cite hoefler2010loggopsim; nodes and matching from \cite gropp2016maxrate and \cite
/// bienz2018irregular. Differs: one number is both the overhead and the gap of a side, and bytes keep no core
/// busy. `charging::loggp` charges as the simulator of \cite hoefler2010loggopsim does.
[[nodiscard]] simulation simulate(const rank_layout& layout, const schedule& s, const machine& m,
                                  const simulation_options& options = {});

/// @brief An estimate of the bytes that a schedule of so many operations takes, and `simulate` for
/// it.
std::size_t simulation_bytes(rank_t num_ranks, std::size_t num_operations) noexcept;

}  // namespace crossdock
