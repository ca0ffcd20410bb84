/// @file
/// @brief The schedule of an exchange that runs plans.
#pragma once

#include <span>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/price.hpp"
#include "crossdock/schedule.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The schedule by which the executor runs plans. A message leaves when all items that it
/// forwards have come.
/// @param plans  of one route, entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many plans as ranks
/// @par Complexity
/// Linear in the plans, with a binary search for each item that a rank forwards.
schedule schedule_of(const rank_layout& layout, std::span<const plan> plans,
                     const travel_options& options = {});

}  // namespace crossdock
