#include "common/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <filesystem>
#include <numeric>

#include "tools/inputs/generate.hpp"

namespace examples {

using crossdock::errc;
using crossdock::error;
using crossdock::sparse_matrix;

namespace {

struct weighted_edge {
    count_t from;
    count_t to;
    double weight;

    friend auto operator<=>(const weighted_edge&, const weighted_edge&) = default;
};

double weight_of(const sparse_matrix& matrix, std::size_t entry) {
    const double imaginary = matrix.imaginary.empty() ? 0 : matrix.imaginary[entry];
    return std::hypot(matrix.values[entry], imaginary);
}

struct edge_list {
    count_t num_vertices = 0;
    std::vector<weighted_edge> edges;
};

edge_list read_edges(const std::string& path) {
    const sparse_matrix matrix = crossdock::read_matrix_market(path);
    if (!matrix.is_square()) {
        throw error(errc::invalid_argument,
                    fmt::format("{} has {} rows and {} columns, but a graph is a square matrix",
                                path, matrix.num_rows, matrix.num_columns));
    }
    edge_list list{matrix.num_rows, {}};
    std::size_t entry = 0;
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row)) {
            const double weight = weight_of(matrix, entry++);
            if (!std::isfinite(weight)) {
                throw error(errc::invalid_argument,
                            fmt::format("{} has an entry ({}, {}) that is not "
                                        "finite",
                                        path, row + 1, column + 1));
            }
            list.edges.push_back({row, column, weight});
        }
    }
    return list;
}

edge_list random_edges(const graph_source& source) {
    const crossdock::graph_spec spec{crossdock::parse_graph_model(source.model),
                                     source.num_vertices, source.num_edges};
    edge_list list{source.num_vertices, {}};
    for (const auto& [from, to] : crossdock::generate_edges(spec, 0, 1)) {
        list.edges.push_back({from, to, 1});
    }
    return list;
}

void add_other_direction(std::vector<weighted_edge>& edges) {
    std::erase_if(edges, [](const weighted_edge& e) { return e.from == e.to; });
    const std::size_t num_edges = edges.size();
    edges.reserve(2 * num_edges);
    for (std::size_t k = 0; k < num_edges; ++k) {
        edges.push_back({edges[k].to, edges[k].from, edges[k].weight});
    }
}

// Of equal edges the lightest stays.
void sort_and_unite(std::vector<weighted_edge>& edges) {
    std::sort(edges.begin(), edges.end());
    const auto is_same = [](const weighted_edge& a, const weighted_edge& b) {
        return a.from == b.from && a.to == b.to;
    };
    edges.erase(std::unique(edges.begin(), edges.end(), is_same), edges.end());
}

sparse_matrix graph_of(const graph_source& source, direction kind) {
    auto [num_vertices, edges] =
        source.model.empty() ? read_edges(source.path) : random_edges(source);
    if (kind == direction::undirected) add_other_direction(edges);
    sort_and_unite(edges);
    sparse_matrix graph;
    graph.num_rows = graph.num_columns = num_vertices;
    graph.row_offsets.assign(static_cast<std::size_t>(num_vertices) + 1, 0);
    for (const weighted_edge& e : edges) {
        ++graph.row_offsets[static_cast<std::size_t>(e.from) + 1];
        graph.columns.push_back(e.to);
        graph.values.push_back(e.weight);
    }
    std::partial_sum(graph.row_offsets.begin(), graph.row_offsets.end(), graph.row_offsets.begin());
    return graph;
}

sparse_matrix rows_of(const sparse_matrix& matrix, count_t first, count_t num_rows) {
    const auto offsets = matrix.row_offsets.begin() + first;
    const count_t begin = offsets[0], end = offsets[num_rows];
    sparse_matrix rows;
    rows.num_rows = num_rows;
    rows.num_columns = matrix.num_columns;
    rows.row_offsets.assign(offsets, offsets + num_rows + 1);
    for (count_t& offset : rows.row_offsets) offset -= begin;
    rows.columns.assign(matrix.columns.begin() + begin, matrix.columns.begin() + end);
    rows.values.assign(matrix.values.begin() + begin, matrix.values.begin() + end);
    return rows;
}

}  // namespace

void graph_source::add_to(CLI::App& app, const std::string& default_file) {
    path = EXAMPLES_DATA_DIR "/" + default_file;
    num_vertices = num_edges = 1 << 12;
    auto* const file = app.add_option("FILE", path, "a Matrix Market file")->capture_default_str();
    auto* const random =
        app.add_option("--random", model, "instead, a random graph: rmat, rgg or gnm")
            ->excludes(file);
    app.add_option("--vertices", num_vertices, "of a random graph")
        ->needs(random)
        ->capture_default_str();
    app.add_option("--edges", num_edges, "of a random graph")->needs(random)->capture_default_str();
}

std::string graph_source::name() const {
    return model.empty() ? std::filesystem::path(path).filename().string() : model;
}

graph_part make_graph(const crossdock::context& world, const graph_source& source, direction kind) {
    // If a rank cannot read the file, all of them throw, and nobody waits.
    sparse_matrix graph = crossdock::on_all_or_none(world, [&] { return graph_of(source, kind); });
    const auto owners = crossdock::block_partition::blocks(graph.num_rows, world.num_ranks());
    const count_t first = owners.first(world.rank());
    sparse_matrix rows = rows_of(graph, first, owners.size(world.rank()));
    if (world.rank() != 0) graph = {};
    return {owners, first, std::move(rows), std::move(graph)};
}

}  // namespace examples
