/// @file
/// @brief The drivers there are.
#pragma once

#include <cstdint>
#include <memory>

#include "crossdock/device.hpp"

namespace crossdock::device {

std::shared_ptr<driver> make_cuda();
std::shared_ptr<driver> make_hip();
std::shared_ptr<driver> make_mock(std::uint64_t seed);

}  // namespace crossdock::device
