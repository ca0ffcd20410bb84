/// @file
/// @brief Machines with round numbers, for results that can be worked out by hand.
#pragma once

#include "crossdock/machine.hpp"

namespace crossdock::test {

/// @brief LogGP's numbers, the same at every level, in nanoseconds: o on either side, L, and G a byte.
/// Copying and all else is free.
inline machine uniform_machine(double o, double L, double G) {
    constexpr double ns = 1e-9;
    level_parameters level;
    level.eager = {L * ns, G * ns};
    level.rendezvous = level.eager;
    level.rendezvous_bytes = 1 << 30;
    level.send_overhead_seconds = o * ns;
    level.receive_overhead_seconds = o * ns;
    machine m;
    m.name = "uniform";
    m.levels.fill(level);
    for (const char* group :
         {"levels", "injection_seconds_per_byte", "matching_seconds", "copy_seconds_per_byte",
          "copy_seconds_per_item", "hand_over_seconds", "time_slice_seconds", "num_cores"})
        m.sources[group] = "assumed: round";
    return m;
}

}  // namespace crossdock::test
