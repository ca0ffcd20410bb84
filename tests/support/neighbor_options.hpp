/// @file
/// @brief Options of neighbor exchanges that differ in one thing.
#pragma once

#include <string>
#include <utility>

#include "crossdock/neighbor_exchange.hpp"

namespace crossdock {

/// @brief The same options with another route.
inline neighbor_options with_route(std::string route, neighbor_options options) {
    options.route = std::move(route);
    return options;
}

}  // namespace crossdock
