/// @file
/// @brief What planning and simulating an exchange takes.
#pragma once

#include <cstddef>
#include <vector>

#include "crossdock/pattern.hpp"
#include "crossdock/route.hpp"

namespace crossdock::tool {

/// @brief An upper bound of the bytes, before anything is compiled: no item meets another one on its way.
std::size_t replay_bytes(const std::vector<pattern>& patterns, const route& way);

}  // namespace crossdock::tool
