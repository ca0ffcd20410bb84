/// @file
/// @brief What copies between a device's memory and the host's take.
#pragma once

#include <vector>

#include "fit.hpp"
#include "measuring.hpp"

namespace crossdock {

/// @brief The time of a copy until the host sees that it is done, by its bytes, while all ranks copy: the mean of both
/// directions.
/// @return the same on all ranks; nothing where a rank has no device, or the library of devices is not there
/// @par Collective
/// Yes; blocks.
/// @throws error  on all ranks: a driver has refused a call
std::vector<timed_amount> measure_device_copies(const communicator& comm, double seconds);

}  // namespace crossdock
