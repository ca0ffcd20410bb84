/// @file
/// @brief What all ranks find together.
#pragma once

#include <array>

#include "crossdock/communicator.hpp"

namespace crossdock::bench {

/// @brief Whether it is true on every rank.
/// @par Collective
/// Yes; blocks.
bool is_true_on_all(const communicator& comm, bool is_true);

/// @brief Four numbers, each summed over the ranks.
/// @par Collective
/// Yes; blocks.
std::array<count_t, 4> sum_over_ranks(const communicator& comm, std::array<count_t, 4> numbers);

}  // namespace crossdock::bench
