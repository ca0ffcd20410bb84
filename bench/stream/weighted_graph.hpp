/// @file
/// @brief Directed graphs with integer weights, and their shortest paths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/stream/workload.hpp"

namespace crossdock::bench::streaming {

/// @brief Edges by the vertex they leave.
struct weighted_graph {
    std::vector<count_t> offsets{0};
    std::vector<std::uint32_t> targets;
    std::vector<std::uint32_t> weights;  ///< 1...most_weight

    std::size_t num_vertices() const noexcept { return offsets.size() - 1; }
};

inline constexpr std::uint32_t most_weight = 1000;
inline constexpr std::uint32_t unreached = ~std::uint32_t{0};

/// @brief The graph that the options name.
///
/// An entry of a Matrix Market file, row and column, is an edge. Its weight is |value|, scaled to
/// 1...1000 and rounded; in a pattern, or if all values are equal, and in R-MAT a hash of both ends.
/// @throws as `read_matrix_market` and `generate_edges`
/// @throws error(errc::invalid_argument)  the graph has no edge, or so many vertices that distances
/// do not fit into 32 bits
weighted_graph load_weighted_graph(const workload_options& options);

/// @brief The vertex with most edges; the first one of those.
std::size_t choose_root(const weighted_graph& graph);

/// @brief Dijkstra's distances from a vertex; `unreached` where there is no path.
std::vector<std::uint32_t> shortest_distances(const weighted_graph& graph, std::size_t root);

}  // namespace crossdock::bench::streaming
