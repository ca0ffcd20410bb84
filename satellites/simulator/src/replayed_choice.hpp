/// @file
/// @brief The best route of a few, by replaying their plans.
#pragma once

#include <span>

#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief Compiles the plans of all candidates, and replays those whose prices are lowest.
///
/// For who has the patterns of all ranks and the time: it takes as long as planning all candidates
/// and simulating a few. Where prices are close, it says which route is really the faster one.
/// @param patterns        entry p for rank p
/// @param num_candidates  at least 1; how many are replayed
/// @return those candidates with their simulated seconds, the fastest first
/// @throws error(errc::invalid_argument)  `num_candidates` is less than 1
/// @throws as `validate(machine)` and `compile`
route_choice choose_by_replay(const rank_layout& layout, std::span<const pattern> patterns,
                              const machine& m, const estimate_options& options = {},
                              int num_candidates = 3);

}  // namespace crossdock
