/// @file
/// @brief The texts of all routes that conformance tests make.
#pragma once

#include <string>
#include <vector>

#include "crossdock/route.hpp"

namespace crossdock::test {

/// @brief An example of every registered route, and grids of other shapes; all fit up to 42 ranks.
inline std::vector<std::string> conformance_routes() {
    std::vector<std::string> result{"grid:1",      "grid:3",     "grid:2x3x7", "grid:7x6",
                                    "grid:1x50x1", "locality:1", "locality:2", "three_step:2"};
    for (const auto& entry : registered_routes()) result.push_back(entry.example);
    return result;
}

/// @brief A route's text as part of a test's name.
inline std::string test_name(std::string route_name) {
    for (auto& c : route_name) {
        if (c == ':' || c == ',') c = '_';
    }
    return route_name;
}

}  // namespace crossdock::test
