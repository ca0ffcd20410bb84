/// @file
/// @brief What the benchmarks of the verb `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "crossdock/topology.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/verbs.hpp"
#include "verbs/reference.hpp"
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
        ->check(in_range(least, 1'000'000'000))
        ->capture_default_str();
}

/// @brief The fields that every benchmark's record starts with.
json record_head(const std::string& schema, const bench_input& input, const topology& regions);

/// @brief With one decimal.
std::string microseconds(double seconds);

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
