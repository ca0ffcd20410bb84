/// @file
/// @brief The workloads of the stream benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/stream/contender.hpp"
#include "crossdock/context.hpp"

namespace crossdock::bench::streaming {

/// @brief What is done; equal on all ranks. Each workload reads what concerns it.
struct workload_options {
    std::string workload = "histogram";
    std::uint64_t seed = 1;
    stream_options stream;  ///< but for what a `stream_choice` says
    bool combine = false;   ///< sssp

    count_t updates = count_t{1} << 20;        ///< of a worker: updates, reads or pings
    count_t table_bytes = count_t{256} << 20;  ///< of all workers together
    count_t sub_block_bytes = 0;               ///< of the table; 0: updates are done as they come
    count_t round_items = count_t{1} << 16;    ///< of a process in a round of MPI_Alltoallv

    std::string graph = "rmat";  ///< or a Matrix Market file
    count_t vertices = count_t{1} << 16;
    count_t edges = count_t{1} << 20;
    count_t delta = 250;  ///< width of a bucket of distances; an edge has 1...1000

    count_t lps = 64;         ///< logical processes of a worker
    count_t lp_events = 16;   ///< that each of them begins with
    count_t lp_hops = 64;     ///< that each of those makes, from process to process
    double lookahead = 0.25;  ///< the least time between two events, in means of the random part
};

/// @brief A workload that the benchmark finds by name.
struct workload_entry {
    std::string name;
    std::string summary;
    std::string item;  ///< what is counted, in plural

    /// @brief Makes what the contenders share, and lists them; what they share lives as long as they.
    /// @par Collective
    /// Yes; blocks.
    std::vector<entrant> (*entrants)(const context& where, const workload_options& options,
                                     const std::vector<stream_choice>& choices);

    /// @brief Items of all workers in one run, for rates.
    count_t (*num_items)(const workload_options& options, count_t num_workers);
};

/// @brief All there are.
const std::vector<workload_entry>& registered_workloads();

/// @throws error(errc::invalid_argument)  there is none of that name
const workload_entry& find_workload(const std::string& name);

/// @brief The contenders of the workload of that name.
/// @{
std::vector<entrant> histogram_entrants(const context& where, const workload_options& options,
                                        const std::vector<stream_choice>& choices);
std::vector<entrant> index_gather_entrants(const context& where, const workload_options& options,
                                           const std::vector<stream_choice>& choices);
std::vector<entrant> sssp_entrants(const context& where, const workload_options& options,
                                   const std::vector<stream_choice>& choices);
std::vector<entrant> phold_entrants(const context& where, const workload_options& options,
                                    const std::vector<stream_choice>& choices);
std::vector<entrant> ping_ack_entrants(const context& where, const workload_options& options,
                                       const std::vector<stream_choice>& choices);
/// @}

}  // namespace crossdock::bench::streaming
