/// @file
/// @brief The replay of a schedule under `charging::loggp`.
#pragma once

#include "crossdock/simulate.hpp"

namespace crossdock {

/// @brief As `simulate`, which calls this after its checks of sizes.
simulation replay_loggp(const rank_layout& layout, const schedule& s, const machine& m,
                        const simulation_options& options);

}  // namespace crossdock
