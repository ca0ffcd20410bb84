/// @file
/// @brief Graphs from files and random ones, cut into the parts of the ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "crossdock/block_partition.hpp"
#include "crossdock/context.hpp"
#include "tools/inputs/matrix.hpp"

namespace examples {

using crossdock::count_t;
using crossdock::rank_t;

/// @brief Which graph.
struct graph_source {
    std::string path;          ///< a Matrix Market file with a square matrix, plain or gzip
    std::string model;         ///< or a random graph, as `crossdock::parse_graph_model` names them
    count_t num_vertices = 0;  ///< of a random graph
    count_t num_edges = 0;     ///< of a random graph

    /// @brief The arguments of a program that takes a graph.
    /// @param default_file  in the folder data
    void add_to(CLI::App& app, const std::string& default_file);

    /// @brief The model, or the file without its folder.
    std::string name() const;
};

/// @brief What becomes of entry (u, v) of a matrix, or of an edge of a random graph.
enum class direction {
    directed,    ///< an edge from u to v
    undirected,  ///< an edge between u and v; no loops
};

/// @brief What one rank knows of a graph: the rows of its vertices. Values are the edges' weights.
///
///     owners  blocks of 5 vertices on 2 ranks: 0 0 0 1 1
///     rank 1  first = 3, rows.row(0) has the neighbors of vertex 3, rows.row(1) those of vertex 4
struct graph_part {
    crossdock::block_partition owners;
    count_t first;                  ///< this rank's first vertex
    crossdock::sparse_matrix rows;  ///< of this rank's vertices
    crossdock::sparse_matrix all;   ///< on rank 0 the whole graph, for the serial result

    count_t num_vertices() const noexcept { return owners.num_entries(); }
    count_t num_own() const noexcept { return rows.num_rows; }
};

/// @brief Reads or generates a graph and keeps this rank's part.
///
/// Every rank makes the whole graph, which is meant to be small. An edge weighs the modulus of its
/// entry, or 1 in a random graph; of several the lightest stays.
/// @throws crossdock::error  on all ranks: the file cannot be read, the matrix is not square, an entry
/// is not finite, or there is no such random graph
graph_part make_graph(const crossdock::context& world, const graph_source& source, direction kind);

}  // namespace examples
