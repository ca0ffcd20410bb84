#include "tools/crossdock/route_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crossdock::tool {

namespace {

std::vector<std::string> all_routes() {
    std::vector<std::string> names;
    for (const auto& entry : registered_routes()) {
        names.push_back(entry.example);
        // The depth of a grid is its one parameter; two examples show what it trades.
        if (entry.example == "grid:2") names.push_back("grid:3");
    }
    return names;
}

std::vector<std::string> grids() {
    std::vector<std::string> names;
    for (const auto& entry : named_grids()) names.push_back(entry.example);
    return names;
}

}  // namespace

std::string routes_help() {
    return fmt::format("Routes, separated by commas; all = {}; named grids: {}",
                       fmt::join(all_routes(), ","), fmt::join(grids(), ","));
}

std::vector<std::string> expand_routes(const std::vector<std::string>& names) {
    std::vector<std::string> expanded;
    for (const auto& name : names) {
        if (name == "all") {
            const auto all = all_routes();
            expanded.insert(expanded.end(), all.begin(), all.end());
        } else {
            expanded.push_back(name);
        }
    }
    return expanded;
}

std::vector<std::unique_ptr<route>> make_routes(const std::vector<std::string>& names,
                                                const topology& regions) {
    std::vector<std::unique_ptr<route>> routes;
    for (const auto& name : names) routes.push_back(make_route(name, regions));
    return routes;
}

}  // namespace crossdock::tool
