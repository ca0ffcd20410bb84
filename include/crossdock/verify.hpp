/// @file
/// @brief Proof that plans do what their patterns ask.
#pragma once

#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Proves symbolically that every needed item reaches every destination slot exactly once.
///
/// Follows the identity of every value (its source and item) stage by stage through all positions:
/// each message sent in a stage must be received in it, by the rank it names, with as many items;
/// and each slot that a pattern receives into must be filled once, by the item that its source
/// lists for it, and no other slot may be filled.
/// @param plans     P plans, entry p for rank p
/// @param patterns  the P patterns they were compiled from
/// @throws error(errc::invalid_plan)   the proof fails; the text names rank, stage, message or slot
/// @throws error(errc::size_mismatch)  there are not as many plans as patterns
/// @par Complexity
/// Time and memory linear in the positions and slots of all plans.
void verify(std::span<const plan> plans, std::span<const pattern> patterns);

}  // namespace crossdock
