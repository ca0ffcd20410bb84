/// @file
/// @brief The graphs of the array benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inputs/generate.hpp"

namespace crossdock::bench::array {

/// @brief Which graph; equal on all ranks.
struct graph_options {
    std::string graph =
        "rmat";  ///< a model as `parse_graph_model` takes it, or a Matrix Market file
    count_t vertices_per_rank = count_t{1} << 13;  ///< of a model
    count_t edges_per_rank = count_t{1} << 15;     ///< of a model
    std::uint64_t seed = 1;                        ///< of a model
};

/// @brief Vertices in blocks, and the edges of every rank where its generator made them.
struct spread_graph {
    count_t num_vertices = 0;
    std::vector<std::vector<edge>> edges;  ///< entry p of rank p
};

/// @brief Whether a graph is read from a file.
bool is_file(const graph_options& options);

/// @brief Makes all ranks' edges, or reads them.
///
/// An entry of a file, row and column, is an edge of the rank that owns the row. A matrix that is not
/// square has as many vertices as its longer side.
/// @par Collective
/// No.
/// @throws as `generate_edges` and `read_matrix_market`
spread_graph load_graph(const graph_options& options, rank_t num_ranks);

}  // namespace crossdock::bench::array
