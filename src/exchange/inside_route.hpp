/// @file
/// @brief How messages travel inside the regions when they come to a region together.
#pragma once

#include <memory>

#include "crossdock/machine.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief The route of `locality_personalized` and `locality_nonblocking` among the members of a
/// region; its ranks are their local ranks.
std::unique_ptr<route> make_inside_route(rank_t num_members, const machine& m);

}  // namespace crossdock
