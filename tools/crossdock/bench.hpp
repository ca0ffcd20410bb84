/// @file
/// @brief What the benchmarks of the verb `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "crossdock/topology.hpp"
#include "tools/crossdock/standing_json.hpp"
#include "tools/crossdock/verbs.hpp"

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
    double seconds = 0;
    bool is_mpi = false;

    /// @brief "0.50": a median over this.
    std::string ratio(double median_seconds) const;
    /// @brief What a ratio is, for the lines above a table.
    std::string legend() const;
};

/// @brief Whether a contender uses MPI alone: its collectives, or requests written by hand.
bool uses_mpi_alone(const std::string& name);

/// @brief The fastest of those that use MPI alone; the first contender where there is none.
/// @param name_of, median_of  of a standing
template <class Standing, class Name, class Median>
reference_time fastest_of_mpi(const std::vector<Standing>& standings, Name name_of,
                              Median median_of) {
    const auto& first = standings.front();
    reference_time best{name_of(first), median_of(first), uses_mpi_alone(name_of(first))};
    for (const auto& one : standings) {
        if (uses_mpi_alone(name_of(one)) && (!best.is_mpi || median_of(one) < best.seconds))
            best = {name_of(one), median_of(one), true};
    }
    return best;
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
