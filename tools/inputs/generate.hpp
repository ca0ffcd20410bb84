/// @file
/// @brief Distributed random graphs: each rank generates its own edges, without communication.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief An edge between two vertices of a graph.
struct edge {
    count_t from = 0;
    count_t to = 0;

    friend auto operator<=>(const edge&, const edge&) = default;
};

/// @brief The model of a random graph.
enum class graph_model {
    rmat,  ///< few vertices have most of the edges, as in social networks and in Graph500
    rgg,   ///< points in the unit square, joined if close: random geometric, as in meshes
    gnm,   ///< both ends of an edge drawn uniformly: no locality at all
};

/// @brief The model called "rmat", "rgg" or "gnm".
/// @throws error(errc::invalid_argument)  there is none; the text lists the names
graph_model parse_graph_model(std::string_view name);

/// @brief The name that `parse_graph_model` reads back.
std::string to_string(graph_model model);

/// @brief The parameters of a random graph. Equal parameters give equal graphs, on any number of
/// ranks.
struct graph_spec {
    graph_model model = graph_model::rmat;
    count_t num_vertices = 1;
    count_t num_edges = 0;  ///< of `rgg`: the expected number, which the radius follows from
    std::uint64_t seed = 1;
};

/// @brief The indices from `first` up to, but without, `last`.
struct index_range {
    count_t first = 0;
    count_t last = 0;

    count_t size() const noexcept { return last - first; }

    friend bool operator==(const index_range&, const index_range&) = default;
};

/// @brief One of `num_ranks` contiguous blocks, as equal as possible, larger ones first.
///
///     8 indices, 3 ranks:  [0, 3) [3, 6) [6, 8)
///
/// @throws error(errc::invalid_argument)   `length` < 0, or `num_ranks` < 1
/// @throws error(errc::rank_out_of_range)  `rank` is outside [0, num_ranks)
index_range block_of(count_t length, rank_t rank, rank_t num_ranks);

/// @brief Generates one rank's edges of a graph.
///
/// The lists of ranks 0, 1, ... one after the other give the same list for every number of ranks.
///
/// | model | edges | a rank's part |
/// |---|---|---|
/// | `rmat` | exactly `num_edges`, directed; repeated ones and loops occur | its block of the edges |
/// | `gnm` | exactly `num_edges`, directed; repeated ones and loops occur | its block of the edges |
/// | `rgg` | about `num_edges`, each once with `from` < `to`, ascending | edges from its block of vertices |
///
/// `rmat` uses the parameters of Graph500, 0.57, 0.19, 0.19 and 0.05, and scrambles vertices as
/// Graph500 does. The number of vertices need not be a power of two: an edge to a vertex outside is
/// drawn again.
///
/// `rgg` numbers its vertices along a space-filling curve of square cells, so that the vertices of
/// a block lie close together.
/// @param spec       equal on all ranks
/// @param rank       the rank whose edges are generated
/// @param num_ranks  the number of ranks that the graph is divided among
/// @throws error(errc::invalid_argument)   there is less than one vertex or rank, the number of
///          edges is negative, or no `connection_radius` gives as many
/// @throws error(errc::rank_out_of_range)  `rank` is outside [0, num_ranks)
/// @par Complexity
/// For k edges of the rank and n vertices, time O(k log n) for `rmat`, which takes longest if n is
/// a little more than a power of two, and O(k) for `gnm`. `rgg` takes on average linear time in the
/// rank's vertices and edges, sorting of its cells, and O(sqrt(n)) to divide the vertices.
/// @par Thread safety
/// Pure.
/// @par Source
/// \cite chakrabarti2004rmat, \cite graph500, \cite funke2018kagen, \cite salmon2011random123.
/// Differs: an edge of `rmat` and `gnm` depends only on the seed and its own index, and any rank
/// can compute any cell of `rgg`, so that the graph does not depend on the number of ranks.
std::vector<edge> generate_edges(const graph_spec& spec, rank_t rank, rank_t num_ranks);

/// @brief The position of a vertex of `rgg`, in [0, 1) x [0, 1).
struct point {
    double x = 0;
    double y = 0;

    friend bool operator==(const point&, const point&) = default;
};

/// @brief The positions of some vertices of a graph of the model `rgg`.
/// @throws error(errc::invalid_argument)    as `generate_edges`, or the graph is of another model
/// @throws error(errc::index_out_of_range)  a vertex is outside [0, num_vertices)
std::vector<point> vertex_points(const graph_spec& spec, const index_range& vertices);

/// @brief The distance below which `rgg` joins two vertices, so that it has `num_edges` expected
/// edges.
///
/// The largest distance is 1, which joins 97 of 100 pairs.
/// @throws error(errc::invalid_argument)  as `generate_edges`
double connection_radius(count_t num_vertices, count_t num_edges);

}  // namespace crossdock
