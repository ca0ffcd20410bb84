/// @file
/// @brief What the benchmarks of the verb `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "crossdock/topology.hpp"
#include "tools/crossdock/verbs.hpp"
#include "verbs/standing_json.hpp"

namespace crossdock::tool {

/// @brief Whose communication is timed.
struct bench_input {
    std::string file;
    std::string topology_text;
    std::string partition = "block";
};

/// @brief Adds FILE, --topology and --partition.
/// @param dense_help  what dense:K is, to end a sentence
void add_input(CLI::App& benchmark, bench_input& input, const std::string& dense_help);

/// @brief Adds a number that is at least `least`.
template <class Integer>
CLI::Option* add_count(CLI::App& benchmark, const std::string& name, Integer& value,
                       const std::string& help, int least) {
    return benchmark.add_option(name, value, help)
        ->check(CLI::Range(least, 1'000'000'000))
        ->capture_default_str();
}

/// @brief The fields that every benchmark's record starts with.
json record_head(const std::string& schema, const bench_input& input, const topology& regions);

/// @brief With one decimal.
std::string microseconds(double seconds);

/// @brief The time that a bench's ratios are to.
struct reference_time {
    std::string name;
    std::string which;  ///< among the contenders: "the fastest that uses MPI alone"
    double seconds = 0;

    /// @brief "0.50": a median over this.
    std::string ratio(double median_seconds) const;
    /// @brief What a ratio is, for the lines above a table.
    std::string legend() const;
};

/// @brief The fastest of those that the others are compared with; the first contender where there is none.
/// @param seconds   of a standing: the times whose median counts
/// @param label_of  of a standing: what the table calls it
/// @param is_one    of a standing: whether others are compared with it
/// @param which     what these have in common, as "that uses MPI alone"
template <class Standing, class Label, class IsOne>
reference_time fastest_of(const std::vector<Standing>& standings, bench::timing Standing::*seconds,
                          Label label_of, IsOne is_one, const std::string& which) {
    const Standing* best = nullptr;
    for (const auto& one : standings) {
        if (std::invoke(is_one, one) &&
            (best == nullptr || (one.*seconds).median < (best->*seconds).median))
            best = &one;
    }
    const Standing& taken = best != nullptr ? *best : standings.front();
    return {std::invoke(label_of, taken),
            best != nullptr ? "the fastest " + which : "the first contender",
            (taken.*seconds).median};
}

/// @brief Whether a contender uses MPI alone: its collectives, or requests written by hand.
bool uses_mpi_alone(const std::string& name);

/// @brief The fastest of those that use MPI alone, which are called by their names.
template <class Standing, class Label>
reference_time fastest_of_mpi(const std::vector<Standing>& standings,
                              bench::timing Standing::*seconds, Label label_of) {
    const auto is_one = [&](const Standing& one) {
        return uses_mpi_alone(std::invoke(label_of, one));
    };
    return fastest_of(standings, seconds, label_of, is_one, "that uses MPI alone");
}

/// @brief 0 if all contenders were right, else 1.
template <class Standing>
int exit_code(const std::vector<Standing>& standings) {
    const bool is_right = std::all_of(standings.begin(), standings.end(),
                                      [](const auto& one) { return one.found.is_verified; });
    return is_right ? 0 : 1;
}

/// @brief Adds a benchmark to the verb `bench`.
void add_bench_neighbor(CLI::App& verb, action& chosen);
void add_bench_exchange(CLI::App& verb, action& chosen);
void add_bench_gather(CLI::App& verb, action& chosen);
void add_bench_array(CLI::App& verb, action& chosen);
void add_bench_combine(CLI::App& verb, action& chosen);
void add_bench_hypre(CLI::App& verb, action& chosen);
void add_bench_stream(CLI::App& verb, action& chosen);

}  // namespace crossdock::tool
