/// @file
/// @brief What two ranks that share memory take to see each other's flags.
#pragma once

#include <optional>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief The seconds from one rank's raising a flag to the other's seeing it, while all others sleep.
/// @return the same on all ranks; none if no two share memory
/// @par Collective
/// Yes; blocks.
std::optional<double> measure_hand_over(const communicator& comm, double seconds);

}  // namespace crossdock
