/// @file
/// @brief What `crossdock try` tells a program to do.
#pragma once

#include <string>

#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief How a route was measured, as far as it was not left to the library: an empty text is its default.
struct measured_way {
    std::string route;
    std::string topology{};  ///< the regions
    std::string nodes{};     ///< which ranks shared memory
    std::string executor{};
    count_t item_bytes = 8;
    rank_t num_ranks = 1;
};

/// @brief What to write into a program in C++ and in C, what to set for one that leaves the route to crossdock, and
/// how to start one that is not changed: {"cxx", "c", "environment", "drop_in"}, all for the way that was measured.
///
/// The last two are null where nodes were named, which no variable does.
json advice_json(const measured_way& way);

}  // namespace crossdock::tool
