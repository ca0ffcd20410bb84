#include "../metis.hpp"

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <numeric>

namespace crossdock {

namespace {

/// An undirected graph as METIS takes it.
struct metis_graph {
    std::vector<idx_t> offsets;
    std::vector<idx_t> neighbors;
};

/// Calls visit(u, v) and visit(v, u) for every entry off the diagonal. A vertex is a row; a column
/// is its row's vertex, or one of its own if the matrix is rectangular.
template <class Visitor>
void for_each_arc(const sparse_matrix& matrix, Visitor visit) {
    const count_t first_column = matrix.is_square() ? 0 : matrix.num_rows;
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row)) {
            if (row == first_column + column) continue;
            visit(static_cast<std::size_t>(row), static_cast<std::size_t>(first_column + column));
            visit(static_cast<std::size_t>(first_column + column), static_cast<std::size_t>(row));
        }
    }
}

/// All arcs; twice those that the matrix has in both of its triangles.
metis_graph all_arcs(const sparse_matrix& matrix) {
    checked_cast<idx_t>(2 * matrix.num_entries());
    const idx_t num_vertices = checked_cast<idx_t>(num_owners(matrix));
    metis_graph graph;
    graph.offsets.assign(static_cast<std::size_t>(num_vertices) + 1, 0);
    for_each_arc(matrix, [&](std::size_t from, std::size_t) { ++graph.offsets[from + 1]; });
    for (std::size_t v = 1; v < graph.offsets.size(); ++v) {
        graph.offsets[v] += graph.offsets[v - 1];
    }
    graph.neighbors.resize(static_cast<std::size_t>(graph.offsets.back()));
    std::vector<idx_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
    for_each_arc(matrix, [&](std::size_t from, std::size_t to) {
        graph.neighbors[static_cast<std::size_t>(next[from]++)] = static_cast<idx_t>(to);
    });
    return graph;
}

void remove_parallel_arcs(metis_graph& graph) {
    auto kept = graph.neighbors.begin();
    auto first = graph.neighbors.begin();
    for (std::size_t v = 1; v < graph.offsets.size(); ++v) {
        const auto last = graph.neighbors.begin() + graph.offsets[v];
        std::sort(first, last);
        kept = std::copy(first, std::unique(first, last), kept);
        first = last;
        graph.offsets[v] = static_cast<idx_t>(kept - graph.neighbors.begin());
    }
    graph.neighbors.erase(kept, graph.neighbors.end());
}

/// A row weighs as much as it has entries; columns weigh nothing.
std::vector<idx_t> entries_of_vertices(const sparse_matrix& matrix) {
    std::vector<idx_t> entries(static_cast<std::size_t>(num_owners(matrix)));
    for (count_t row = 0; row < matrix.num_rows; ++row)
        entries[static_cast<std::size_t>(row)] = checked_cast<idx_t>(std::ssize(matrix.row(row)));
    return entries;
}

}  // namespace

owner_list metis_owners(const sparse_matrix& matrix, rank_t num_ranks, bool balances_entries) {
    idx_t num_vertices = checked_cast<idx_t>(num_owners(matrix));
    owner_list owners(static_cast<std::size_t>(num_vertices), 0);
    if (num_ranks == 1) return owners;
    if (num_vertices <= num_ranks) {
        std::iota(owners.begin(), owners.end(), 0);
        return owners;
    }
    metis_graph graph = all_arcs(matrix);
    remove_parallel_arcs(graph);
    std::vector<idx_t> weights;
    if (balances_entries && matrix.num_entries() > 0) weights = entries_of_vertices(matrix);
    std::vector<idx_t> parts(owners.size());
    idx_t num_constraints = 1;
    idx_t num_parts = num_ranks;
    idx_t edge_cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const int status = METIS_PartGraphKway(
        &num_vertices, &num_constraints, graph.offsets.data(), graph.neighbors.data(),
        weights.empty() ? nullptr : weights.data(), nullptr, nullptr, &num_parts, nullptr, nullptr,
        options, &edge_cut, parts.data());
    if (status == METIS_ERROR_MEMORY) {
        throw error(errc::out_of_memory, "METIS ran out of memory");
    }
    if (status != METIS_OK) {
        throw error(errc::internal, fmt::format("METIS failed with status {}", status));
    }
    std::transform(parts.begin(), parts.end(), owners.begin(),
                   [](idx_t part) { return static_cast<rank_t>(part); });
    return owners;
}

}  // namespace crossdock
