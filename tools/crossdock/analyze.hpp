/// @file
/// @brief The two things the verb `analyze` counts: routes, and sparse data exchanges.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "crossdock/topology/topology.hpp"

namespace crossdock::tool {

/// @brief Whose communication is counted, and how it is shown.
struct analyze_input {
    std::string file;
    rank_t num_ranks = 0;
    std::string topology_text;
    std::string partition = "block";
    bool as_json = false;
};

/// @brief Which exchanges are counted, if any.
struct exchange_analysis {
    bool is_chosen = false;
    std::vector<std::string> algorithms{"all"};
    std::string values = "indices";
};

/// @brief Adds --exchange and the options that need it.
/// @return --exchange
CLI::Option* add_exchange_analysis(CLI::App& verb, exchange_analysis& options);

/// @brief Counts and prints what every algorithm sends in the exchange of `bench exchange`.
void analyze_exchange(const analyze_input& input, const exchange_analysis& options,
                      const topology& regions);

}  // namespace crossdock::tool
