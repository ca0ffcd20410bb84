/// @file
/// @brief The routes a user asks for.
#pragma once

#include <string>
#include <vector>

#include "crossdock/route.hpp"

namespace crossdock::tool {

/// @brief The help text of `--routes`.
std::string routes_help();

/// @brief The names as given; "all" stands for the example of every registered route, and grid:3.
std::vector<std::string> expand_routes(const std::vector<std::string>& names);

/// @brief The routes with these names.
/// @throws error  as `make_route`
std::vector<std::unique_ptr<route>> make_routes(const std::vector<std::string>& names,
                                                const topology& regions);

}  // namespace crossdock::tool
