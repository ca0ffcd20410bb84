#include "bench/stream/weighted_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "bench/stream/random.hpp"
#include "tools/inputs/generate.hpp"
#include "tools/inputs/matrix.hpp"

namespace crossdock::bench::streaming {

namespace {

std::uint32_t hashed_weight(count_t from, count_t to) {
    const auto ends = (static_cast<std::uint64_t>(from) << 32) ^ static_cast<std::uint64_t>(to);
    return static_cast<std::uint32_t>(mix(ends) % most_weight) + 1;
}

// Sorts by the vertex that edges leave, keeping their order.
weighted_graph from_edges(const std::vector<edge>& edges, count_t num_vertices) {
    weighted_graph graph;
    graph.offsets.assign(static_cast<std::size_t>(num_vertices) + 1, 0);
    for (const edge& one : edges) ++graph.offsets[static_cast<std::size_t>(one.from) + 1];
    std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
    std::vector<count_t> next = graph.offsets;
    graph.targets.resize(edges.size());
    graph.weights.resize(edges.size());
    for (const edge& one : edges) {
        const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(one.from)]++);
        graph.targets[at] = static_cast<std::uint32_t>(one.to);
        graph.weights[at] = hashed_weight(one.from, one.to);
    }
    return graph;
}

std::vector<double> magnitudes(const sparse_matrix& matrix) {
    std::vector<double> result(matrix.values.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double imaginary = matrix.imaginary.empty() ? 0 : matrix.imaginary[i];
        result[i] = std::hypot(matrix.values[i], imaginary);
    }
    return result;
}

weighted_graph from_matrix(const sparse_matrix& matrix) {
    weighted_graph graph{matrix.row_offsets, {}, {}};
    graph.offsets.resize(
        static_cast<std::size_t>(std::max(matrix.num_rows, matrix.num_columns)) + 1,
        matrix.num_entries());
    const auto values = magnitudes(matrix);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const bool tells_weights =
        matrix.field != matrix_field::pattern && !values.empty() && *least < *most &&
        std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row)) {
            const double share = tells_weights ? values[graph.targets.size()] / *most : 0;
            graph.targets.push_back(static_cast<std::uint32_t>(column));
            graph.weights.push_back(tells_weights ? 1 + static_cast<std::uint32_t>(
                                                            std::lround(share * (most_weight - 1)))
                                                  : hashed_weight(row, column));
        }
    }
    return graph;
}

}  // namespace

weighted_graph load_weighted_graph(const workload_options& options) {
    const graph_spec spec{graph_model::rmat, options.vertices, options.edges, options.seed};
    auto graph = options.graph == "rmat" ? from_edges(generate_edges(spec, 0, 1), options.vertices)
                                         : from_matrix(read_matrix_market(options.graph));
    if (graph.targets.empty())
        throw error(errc::invalid_argument, fmt::format("{} has no edge", options.graph));
    if (graph.num_vertices() > unreached / most_weight) {
        throw error(errc::invalid_argument,
                    fmt::format("a graph of {} vertices has too many for distances of 32 bits",
                                graph.num_vertices()));
    }
    return graph;
}

std::size_t choose_root(const weighted_graph& graph) {
    std::size_t root = 0;
    const auto degree = [&](std::size_t v) { return graph.offsets[v + 1] - graph.offsets[v]; };
    for (std::size_t v = 1; v < graph.num_vertices(); ++v) {
        if (degree(v) > degree(root)) root = v;
    }
    return root;
}

std::vector<std::uint32_t> shortest_distances(const weighted_graph& graph, std::size_t root) {
    using candidate = std::pair<std::uint32_t, std::size_t>;  // distance, vertex
    std::vector<std::uint32_t> distances(graph.num_vertices(), unreached);
    std::priority_queue<candidate, std::vector<candidate>, std::greater<>> open;
    distances[root] = 0;
    open.push({0, root});
    while (!open.empty()) {
        const auto [distance, vertex] = open.top();
        open.pop();
        if (distance > distances[vertex]) continue;
        const auto end = static_cast<std::size_t>(graph.offsets[vertex + 1]);
        for (auto e = static_cast<std::size_t>(graph.offsets[vertex]); e < end; ++e) {
            const std::uint32_t longer = distance + graph.weights[e];
            if (longer >= distances[graph.targets[e]]) continue;
            distances[graph.targets[e]] = longer;
            open.push({longer, graph.targets[e]});
        }
    }
    return distances;
}

}  // namespace crossdock::bench::streaming
