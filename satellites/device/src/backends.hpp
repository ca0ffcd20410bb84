/// @file
/// @brief The drivers there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "crossdock/device.hpp"

namespace crossdock::device {

std::shared_ptr<driver> make_cuda();
std::shared_ptr<driver> make_hip();
/// @param forgotten  a call that does not synchronize, or empty
std::shared_ptr<driver> make_mock(std::uint64_t seed, const std::string& forgotten);

}  // namespace crossdock::device
