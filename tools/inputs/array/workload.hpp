/// @file
/// @brief The three workloads of the study of combined requests.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "tools/inputs/array/graph.hpp"
#include "tools/inputs/array/rank_program.hpp"

namespace crossdock::bench::array {

/// @brief What is done with which graph; equal on all ranks.
struct workload_options {
    std::string workload = "boruvka";
    graph_options graph;
    count_t entries = count_t{1} << 8;             ///< of `overload`
    count_t requests_per_rank = count_t{1} << 15;  ///< of `overload`
};

/// @brief What one rank brings to a workload, and what must come out.
struct rank_work {
    std::string workload;
    block_partition owners = block_partition::blocks(0, 1);
    rank_t rank = 0;
    std::vector<edge> edges;        ///< held by this rank
    std::vector<value_t> expected;  ///< the outcome of this rank's program, computed serially
};

/// @brief One line of the list of workloads.
struct workload_description {
    std::string name;
    std::string summary;
    bool has_graph;
    std::unique_ptr<rank_program> (*make_program)(const rank_work& work);
    /// The outcome of every rank.
    std::vector<std::vector<value_t>> (*compute)(const spread_graph& graph,
                                                 const block_partition& owners);
};

/// @brief `boruvka`, `neighborhood` and `overload`.
const std::vector<workload_description>& registered_workloads();

/// @throws error(errc::invalid_argument)  there is none of this name; the text lists them
const workload_description& find_workload(std::string_view name);

/// @brief All ranks' parts of a workload.
/// @return entry p of rank p
/// @par Collective
/// No.
/// @throws as `load_graph`
/// @throws error(errc::invalid_argument)  there is no such workload, or its numbers do not fit it
std::vector<rank_work> make_work(const workload_options& options, rank_t num_ranks);

/// @brief As above, on a graph that is at hand.
std::vector<rank_work> make_work(const std::string& workload, spread_graph graph, rank_t num_ranks);

/// @brief This rank's program.
std::unique_ptr<rank_program> make_program(const rank_work& work);

/// @brief The value that an entry starts with where the program has no own idea of it.
value_t first_value(count_t index) noexcept;

/// @brief Cuts the values of all entries into those of each rank.
std::vector<std::vector<value_t>> cut(const std::vector<value_t>& values,
                                      const block_partition& owners);

/// @brief Gives the entries of a rank these values.
void fill_first_values(const rank_work& work, std::span<value_t> entries);

/// @brief The vertices that edges lead to.
std::vector<count_t> ends_of(const std::vector<edge>& edges);

// Every workload in its own file.
workload_description boruvka();
workload_description neighborhood();
workload_description overload();

/// @brief The graph of `overload`: every rank has requests / E edges to each of the E entries, in an
/// order that is drawn.
/// @throws error(errc::invalid_argument)  there are fewer requests than entries
spread_graph overload_graph(const workload_options& options, rank_t num_ranks);

}  // namespace crossdock::bench::array
