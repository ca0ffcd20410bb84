/// @file
/// @brief Symbolic verification: plans deliver what their patterns ask for.
#pragma once

#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Verifies symbolically that the plans bring every item to each slot that needs it, exactly
/// once.
///
/// It follows the identity of every value, its source and item, stage by stage through all
/// positions. The rank that a message names must receive it in the same stage, with the same number
/// of items. Each slot that a pattern receives into must be filled once, by the item that its
/// source lists for it; no other slot may be filled.
/// @param plans     P plans, entry p for rank p
/// @param patterns  the P patterns that they were compiled from
/// @throws error(errc::invalid_plan)   the plans do something else; the text names the rank, and
///          the stage, message or slot
/// @throws error(errc::size_mismatch)  there are not as many plans as patterns
/// @par Complexity
/// Time and memory linear in the positions and slots of all plans.
void verify(std::span<const plan> plans, std::span<const pattern> patterns);

}  // namespace crossdock
