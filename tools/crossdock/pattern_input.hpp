/// @file
/// @brief Whose communication a verb without MPI looks at.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "crossdock/pattern.hpp"
#include "tools/inputs/workload.hpp"

namespace crossdock::tool {

/// @brief FILE, and the ranks it is divided among.
struct pattern_input {
    std::string file;
    rank_t num_ranks = 0;
    std::string topology_text;
    std::string partition = "block";

    /// @throws error  as `topology::from_string`
    /// @throws error(errc::out_of_memory)  so many ranks cannot be kept
    topology regions() const;
};

/// @brief Adds --partition, which is `default_partition` of the file if it is not given.
CLI::Option* add_partition(CLI::App& verb, const std::string& file, std::string& partition);

/// @brief Adds --ranks, --topology and --partition.
/// @return --partition
CLI::Option* add_division(CLI::App& verb, pattern_input& input);

/// @brief The exchange of y = A x among all ranks, entry p for rank p.
std::vector<pattern> patterns_of(const workload& work);

/// @brief The patterns of FILE.
/// @throws as `load_workload`
std::vector<pattern> load_patterns(const pattern_input& input, const topology& regions);

/// @brief The workloads of FILE: the levels of a hierarchy, finest first, or the one there is.
/// @throws as `load_levels`
/// @throws error(errc::size_mismatch)  there are more ranks than rows, or than the hierarchy was
/// recorded on
std::vector<workload> load_all_levels(const pattern_input& input, const topology& regions);

/// @brief The one workload of FILE.
/// @throws as `load_all_levels`
/// @throws error(errc::invalid_argument)  there are several levels
workload load_one_level(const pattern_input& input, const topology& regions);

}  // namespace crossdock::tool
