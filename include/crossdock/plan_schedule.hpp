/// @file
/// @brief Plans as schedules.
#pragma once

#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/price.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What the executor does with these plans: a message leaves when all that it forwards is here.
/// @param plans  of one route, entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many plans as ranks
/// @par Complexity
/// Linear in the plans, but for a binary search per item that is forwarded.
schedule schedule_of(const rank_layout& layout, std::span<const plan> plans,
                     const travel_options& options = {});

}  // namespace crossdock
