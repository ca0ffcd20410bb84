/// @file
/// @brief Which receive each message belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief For every operation, counted over all ranks: the other end of its message; its own number
/// for a copy.
/// @throws as `simulate`, where messages and receives do not match
/// @par Complexity
/// Time O(n log n).
std::vector<std::uint32_t> pair_messages(const schedule& s);

}  // namespace crossdock
