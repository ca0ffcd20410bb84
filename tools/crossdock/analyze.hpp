/// @file
/// @brief What the verb `analyze` counts: routes, sparse data exchanges, distributed arrays.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "crossdock/topology.hpp"
#include "tools/crossdock/array_workload.hpp"
#include "tools/crossdock/exchange_input.hpp"
#include "tools/crossdock/pattern_input.hpp"

namespace crossdock::tool {

/// @brief Whose communication is counted, and how it is shown.
struct analyze_input : pattern_input {
    bool as_json = false;
};

/// @brief Which batches of a distributed array are counted, if any.
struct array_analysis {
    bool is_chosen = false;
    bench::array::workload_options workload;
    combining_choice combine;
    std::string plans_file;
};

/// @brief Counts and prints what every algorithm sends in the exchange of `bench exchange`.
void analyze_exchange(const analyze_input& input, const exchange_choice& options,
                      const topology& regions);

/// @brief Adds --array and the options that need it.
/// @return --array
CLI::Option* add_array_analysis(CLI::App& verb, array_analysis& options);

/// @brief Counts and prints what every route sends in the batches of `bench array`.
/// @param routes  as given, with "auto" among them perhaps
/// @return whether the workload's program was right
bool analyze_array(const analyze_input& input, const array_analysis& options,
                   const std::vector<std::string>& routes, const topology& regions);

}  // namespace crossdock::tool
