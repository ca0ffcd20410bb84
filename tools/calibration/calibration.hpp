/// @file
/// @brief From measured times to the parameters of a machine.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/machine.hpp"
#include "fit.hpp"

namespace crossdock {

/// @brief What was measured between ranks of one level.
struct level_samples {
    std::vector<timed_amount> one_way;  ///< bytes of a message; nothing else is under way
    /// Small messages that every rank of the level sends, as many as it receives, all at once.
    std::vector<timed_amount> bursts;
    /// As `bursts`, but the time of a core in the calls that send.
    std::vector<timed_amount> sends;
    /// Bytes that every rank sends in a burst, where cores are shared; else empty.
    std::vector<timed_amount> loads;
    int num_ranks = 1;  ///< that have others at this level; the rest do nothing meanwhile
};

/// @brief All that was measured; empty where there was nothing to measure.
struct machine_samples {
    std::string name;
    std::string description;
    std::array<std::optional<level_samples>, num_locality_levels> levels;
    std::vector<timed_amount> injection;  ///< bytes that each node sends to another, all at once
    std::vector<timed_amount> matching;   ///< receives that wait before a message's own
    std::vector<timed_amount> copying;    ///< bytes in one run
    std::vector<timed_amount> gathering;  ///< items of 8 bytes, each by itself
    std::vector<timed_amount> device_copies;  ///< bytes to a device's memory or from it
    std::optional<double> hand_over_seconds;
    int num_ranks = 1;
    int num_cores = 0;  ///< that all ranks share, 0: each has its own
    double time_slice_seconds = 0;
};

/// @brief How far samples are off what was fitted to them.
struct fit_error {
    std::string group;  ///< e.g. "network ping-pong"
    std::size_t num_samples = 0;
    double relative_error = 0;  ///< median
};

/// @brief A machine, and how well it describes its samples.
struct calibration {
    machine found;
    std::vector<fit_error> errors;
};

/// @brief Fits all parameters.
///
/// The time of a burst grows, message by message, by both overheads; where cores are shared, by those of
/// all ranks of the level that a core serves, and byte by byte by what a byte costs a core. What of a
/// ping-pong's start is no overhead is latency. A level that was not measured has the numbers of the nearest
/// one that was, or of copying; a farther level's latency is raised to a nearer one's.
/// A message between devices, which is not measured, is assumed to be one of the host and two copies.
/// @param samples  `copying` and `gathering` are not empty, nor are a level's but `loads`
/// @throws error(errc::invalid_argument)  a list that must not be empty is
calibration fit_machine(const machine_samples& samples);

}  // namespace crossdock
