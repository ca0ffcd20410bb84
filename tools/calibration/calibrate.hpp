/// @file
/// @brief Measures the machine at hand.
#pragma once

#include <functional>
#include <string>

#include "calibration.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief How long to measure, and what to call the result; equal on all ranks but for `progress`.
struct calibration_options {
    double seconds = 60;  ///< that all measuring takes, about
    std::string name = "calibrated";
    std::string description;
    /// Called on rank 0 before each part, with its name and the share of the time that is over.
    std::function<void(const std::string& part, double share)> progress;
};

/// @brief Measures all parameters of a machine on the ranks of a communicator, and fits them.
///
///     ping-pong    two ranks of each level, 1 B to 1 MiB; all others sleep
///     bursts       every rank sends small messages to several of a level, and gets as many
///     loads        bursts of longer messages, where more ranks than cores run on a machine
///     injection    every rank sends long messages to the next node
///     matching     a ping-pong past receives that wait
///     copying      rank 0 copies runs and gathers items
///     hand-over    two ranks that share memory raise flags for each other
///     time_slices  all ranks poll and yield, there too
///     device       all ranks copy to their devices and back, where each has one and libcrossdock_device is found
///
/// Each part takes its share of the time, in rounds of all its sizes in turn; a size's time is the lower
/// quartile of its rounds. A part makes one round however little time there is.
/// @param comm    all of its ranks call; borrowed
/// @param layout  of its ranks; equal on all
/// @return the same on all ranks
/// @par Collective
/// Yes; blocks. Waiting yields the core.
/// @throws error(errc::invalid_argument)  on all ranks: `seconds` is not between 0 and an hour, or an
///         argument differs between ranks
/// @throws error(errc::size_mismatch)     on all ranks: the layout is of another number of ranks
/// @throws error(errc::out_of_memory)     on all ranks: no memory to share is left
calibration calibrate(const communicator& comm, const rank_layout& layout,
                      const calibration_options& options = {});

}  // namespace crossdock
