#include "tools/crossdock/algorithm_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/route.hpp"

namespace crossdock::tool {

namespace {

std::vector<std::string> routed_algorithms() {
    std::vector<std::string> names;
    for (const auto& entry : registered_routes()) {
        names.push_back("routed:" + entry.example);
        if (entry.name == "locality") names.push_back("routed:locality:1");
    }
    return names;
}

std::vector<std::string> all_algorithms(bool has_one_size) {
    std::vector<std::string> names{"auto"};
    for (const auto& entry : registered_exchange_algorithms()) {
        if (entry.method == exchange_method::routed) {
            const auto routed = routed_algorithms();
            names.insert(names.end(), routed.begin(), routed.end());
        } else if (has_one_size || !takes_one_size_only(entry.method)) {
            names.push_back(entry.name);
        }
    }
    return names;
}

}  // namespace

std::string algorithms_help() {
    return fmt::format(
        "Algorithms, separated by commas; routed:ROUTE for any route; all = {}; without rma and "
        "rma_fence where messages differ in size",
        fmt::join(all_algorithms(true), ","));
}

std::vector<std::string> expand_algorithms(const std::vector<std::string>& names,
                                           bool has_one_size) {
    std::vector<std::string> expanded;
    for (const auto& name : names) {
        if (name == "all") {
            const auto all = all_algorithms(has_one_size);
            expanded.insert(expanded.end(), all.begin(), all.end());
        } else {
            expanded.push_back(name);
        }
    }
    return expanded;
}

void check_algorithms(const std::vector<std::string>& names, bool has_one_size,
                      const topology& regions) {
    for (const auto& name : names) {
        if (name == "auto") continue;
        const auto algorithm = parse_exchange_algorithm(name);
        if (takes_one_size_only(algorithm.method) && !has_one_size) {
            throw error(errc::invalid_argument,
                        fmt::format("the algorithm {} exchanges messages of one size only; take "
                                    "another one",
                                    to_string(algorithm)));
        }
        if (algorithm.method == exchange_method::routed)
            static_cast<void>(make_route(algorithm.route, regions));
    }
}

}  // namespace crossdock::tool
