/// @file
/// @brief Makes MPI read and write memory of the mock, as one does that is built for devices.
#pragma once

#include <memory>

#include "crossdock/device.hpp"

namespace crossdock::device_test {

/// @brief From now on MPI takes memory of this driver, if it is a mock.
void make_mpi_know(const std::shared_ptr<device::driver>& on);

/// @brief Whether memory has changed while MPI sent it, since the last call.
bool was_sent_memory_changed();

/// @brief What MPI says when it is asked whether it takes memory of a mock.
void let_mpi_say(bool takes_it);

}  // namespace crossdock::device_test
