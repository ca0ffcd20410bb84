/// @file
/// @brief What `bench neighbor` is asked to do, and what it shows.
#pragma once

#include <string>
#include <vector>

#include "bench/neighbor/contest.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

/// @brief What is timed, and how it is shown.
struct neighbor_options {
    bench_input input;
    bool is_amg = false;
    std::string direction = "forward";
    std::size_t num_values = 0;  // 0: whatever --item-bytes says
    std::vector<std::string> baselines;
    std::vector<std::string> peers;
    std::vector<std::string> routes{"all"};
    std::vector<std::string> executors{"persistent", "shared_memory"};
    std::string nodes_text;
    bench::contest_options contest;
    bool as_json = false;
};

/// @brief The contest on one level of a hierarchy.
struct level_result {
    count_t num_rows = 0;
    std::vector<bench::standing> standings;
};

/// @brief What was found; means something on rank 0.
struct neighbor_result {
    std::vector<level_result> levels;        ///< of a hierarchy, finest first; else empty
    std::vector<bench::standing> standings;  ///< of all levels, one after the other
};

/// @brief The baselines that are asked for, whether this build has them or not.
std::vector<bench::entrant> asked_baselines(const neighbor_options& options);

/// @brief One of the two ways to show results.
/// @{
void print_neighbor_json(const neighbor_options& options, const topology& regions,
                         const neighbor_result& found);
void print_neighbor_tables(const neighbor_options& options, const topology& regions,
                           const neighbor_result& found);
/// @}

}  // namespace crossdock::tool
