/// @file
/// @brief What `bench stream` is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/stream/contest.hpp"
#include "bench/stream/workload.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

/// @brief What is timed, and how it is shown.
struct stream_bench_options {
    bench::streaming::workload_options workload;
    std::vector<std::string> schemes{"auto"};
    std::vector<std::string> routes{"direct"};
    std::vector<count_t> buffer_items{8192};
    std::string nodes_text;
    double max_age_microseconds = 0;  ///< 0: none
    std::string mpi_threads;          ///< what MPI is asked for; empty: as much as is needed
    bench::streaming::contest_options contest;
    bool as_json = false;
};

/// @brief Adds the options of the workloads and of the streams.
void add_stream_options(CLI::App& verb, stream_bench_options& options);

/// @brief Every scheme on every route with every size of buffers; "all" stands for all schemes.
/// @throws error(errc::invalid_argument)  no such scheme
std::vector<bench::streaming::stream_choice> stream_choices(const stream_bench_options& options);

/// @brief The thread support that MPI is asked for.
int thread_support(const stream_bench_options& options);

/// @brief One of the two ways to show results.
/// @param nodes  of the streams
/// @{
void print_stream_json(const stream_bench_options& options, const topology& nodes,
                       const std::vector<bench::streaming::standing>& standings);
void print_stream_table(const stream_bench_options& options, const topology& nodes,
                        const std::vector<bench::streaming::standing>& standings);
/// @}

}  // namespace crossdock::tool
