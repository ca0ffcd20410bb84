#include "tools/inputs/array/graph.hpp"

#include <algorithm>

#include "crossdock/block_partition.hpp"
#include "tools/inputs/matrix.hpp"

namespace crossdock::bench::array {

namespace {

spread_graph read_graph(const std::string& file, rank_t num_ranks) {
    const auto matrix = read_matrix_market(file);
    const auto rows = block_partition::blocks(matrix.num_rows, num_ranks);
    spread_graph graph{std::max(matrix.num_rows, matrix.num_columns), {}};
    graph.edges.resize(static_cast<std::size_t>(num_ranks));
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        auto& edges = graph.edges[static_cast<std::size_t>(rows.owner(row))];
        for (const count_t column : matrix.row(row)) edges.push_back({row, column});
    }
    return graph;
}

}  // namespace

bool is_file(const graph_options& options) {
    return options.graph != "rmat" && options.graph != "rgg" && options.graph != "gnm";
}

spread_graph load_graph(const graph_options& options, rank_t num_ranks) {
    if (is_file(options)) return read_graph(options.graph, num_ranks);
    const graph_spec spec{parse_graph_model(options.graph), options.vertices_per_rank * num_ranks,
                          options.edges_per_rank * num_ranks, options.seed};
    spread_graph graph{spec.num_vertices, {}};
    for (rank_t rank = 0; rank < num_ranks; ++rank)
        graph.edges.push_back(generate_edges(spec, rank, num_ranks));
    return graph;
}

}  // namespace crossdock::bench::array
