/// @file
/// @brief What `bench array` and `analyze --array` share: workloads, strategies, counts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "crossdock/detail/array/combining.hpp"
#include "crossdock/topology.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/inputs/array/counts.hpp"
#include "tools/inputs/array/workload.hpp"

namespace crossdock::tool {

/// @brief Which requests are combined, and how.
struct combining_choice {
    std::vector<std::string> strategies{"auto"};
    std::string where = "everywhere";
};

/// @brief Adds --workload, --graph and the numbers that belong to them.
/// @return what was added
std::vector<CLI::Option*> add_workload(CLI::App& verb, bench::array::workload_options& options);

/// @brief Adds --combine and --where.
/// @return what was added
std::vector<CLI::Option*> add_combining(CLI::App& verb, combining_choice& choice);

/// @brief Strategies by name; "all" stands for all, "auto" stays.
std::vector<std::string> expand_strategies(const std::vector<std::string>& names);

/// @brief A route and a strategy, and how a user called them.
struct array_choice {
    std::string name;   ///< "auto/sort"
    std::string route;  ///< or "auto"
    combining_options combine;
};

/// @brief Every route with every strategy; "all" stands for all, "auto" for the library's choice.
/// @throws as `make_route` and `parse_combining`
std::vector<array_choice> expand_choices(const std::vector<std::string>& routes,
                                         const combining_choice& choice, const topology& regions);

/// @brief "workload", and what it is done with: "graph", "vertices", "edges", "seed"; or "entries".
json workload_json(const bench::array::workload_options& options, count_t num_entries,
                   count_t num_edges);

/// @brief "auto/auto = hypercube/sort": a contender's name, and what is behind it if that is more.
std::string contender_label(const std::string& name, const std::string& route,
                            const std::string& strategy);

/// @brief One line for people.
std::string workload_text(const bench::array::workload_options& options);

/// @brief "requests", "combined_locally", "combined_on_the_way", "received", "arrived", "stages"
json counts_json(const bench::array::workload_counts& counts);

}  // namespace crossdock::tool
