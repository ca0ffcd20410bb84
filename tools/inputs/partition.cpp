#include "partition.hpp"

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "crossdock/block_partition.hpp"

namespace crossdock {

namespace {

/// Owners of rows and, behind them if the matrix is rectangular, of columns.
using owner_list = std::vector<rank_t>;

count_t num_owners(const sparse_matrix& matrix) {
    return matrix.num_rows + (matrix.is_square() ? 0 : matrix.num_columns);
}

template <class Number>
std::optional<Number> to_number(std::string_view text) {
    Number number{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

void append_blocks(owner_list& owners, count_t length, rank_t num_ranks) {
    const auto blocks = block_partition::blocks(length, num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        owners.insert(owners.end(), static_cast<std::size_t>(blocks.size(rank)), rank);
    }
}

owner_list block_owners(const sparse_matrix& matrix, rank_t num_ranks) {
    owner_list owners;
    append_blocks(owners, matrix.num_rows, num_ranks);
    if (!matrix.is_square()) append_blocks(owners, matrix.num_columns, num_ranks);
    return owners;
}

owner_list random_owners(const sparse_matrix& matrix, std::string_view seed, rank_t num_ranks) {
    const auto number = to_number<std::uint64_t>(seed);
    if (!number) {
        throw error(errc::invalid_argument, fmt::format("the seed '{}' is not a number", seed));
    }
    std::mt19937_64 generator(*number);
    owner_list owners(static_cast<std::size_t>(num_owners(matrix)));
    for (rank_t& owner : owners) {
        owner = static_cast<rank_t>(generator() % static_cast<std::uint64_t>(num_ranks));
    }
    return owners;
}

owner_list file_owners(const sparse_matrix& matrix, const std::string& path, rank_t num_ranks) {
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path)) {
        throw error(errc::file_error, fmt::format("cannot open {}", path));
    }
    owner_list owners;
    std::string word;
    while (file >> word) {
        const auto owner = to_number<count_t>(word);
        if (!owner) {
            throw error(errc::parse_error, fmt::format("{}: owner {} is '{}', not a number", path,
                                                       owners.size(), word));
        }
        if (*owner < 0 || *owner >= num_ranks) {
            throw error(errc::rank_out_of_range,
                        fmt::format("{}: owner {} is {}, outside [0, {})", path, owners.size(),
                                    *owner, num_ranks));
        }
        owners.push_back(static_cast<rank_t>(*owner));
    }
    if (static_cast<count_t>(owners.size()) != num_owners(matrix)) {
        throw error(
            errc::size_mismatch,
            fmt::format("{} has {} owners, but a matrix of {} rows and {} columns needs {}", path,
                        owners.size(), matrix.num_rows, matrix.num_columns, num_owners(matrix)));
    }
    return owners;
}

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

owner_list metis_owners(const sparse_matrix& matrix, rank_t num_ranks) {
    idx_t num_vertices = checked_cast<idx_t>(num_owners(matrix));
    owner_list owners(static_cast<std::size_t>(num_vertices), 0);
    if (num_ranks == 1) return owners;
    if (num_vertices <= num_ranks) {
        std::iota(owners.begin(), owners.end(), 0);
        return owners;
    }
    metis_graph graph = all_arcs(matrix);
    remove_parallel_arcs(graph);
    std::vector<idx_t> parts(owners.size());
    idx_t num_constraints = 1;
    idx_t num_parts = num_ranks;
    idx_t edge_cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const int status = METIS_PartGraphKway(
        &num_vertices, &num_constraints, graph.offsets.data(), graph.neighbors.data(), nullptr,
        nullptr, nullptr, &num_parts, nullptr, nullptr, options, &edge_cut, parts.data());
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

owner_list owners_by_spec(const sparse_matrix& matrix, std::string_view spec, rank_t num_ranks) {
    constexpr std::string_view random_prefix = "random:";
    constexpr std::string_view file_prefix = "file:";
    if (spec == "block") return block_owners(matrix, num_ranks);
    if (spec == "metis") return metis_owners(matrix, num_ranks);
    if (spec.starts_with(random_prefix)) {
        return random_owners(matrix, spec.substr(random_prefix.size()), num_ranks);
    }
    if (spec.starts_with(file_prefix)) {
        return file_owners(matrix, std::string(spec.substr(file_prefix.size())), num_ranks);
    }
    std::error_code ignored;
    if (std::filesystem::is_regular_file(spec, ignored)) {
        return file_owners(matrix, std::string(spec), num_ranks);
    }
    throw error(errc::invalid_argument,
                fmt::format("'{}' is no partition; choose block, metis, random:SEED, file:PATH or "
                            "the path of a file",
                            spec));
}

}  // namespace

partition make_partition(const sparse_matrix& matrix, std::string_view spec, rank_t num_ranks) {
    if (num_ranks < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("a matrix cannot be divided among {} ranks", num_ranks));
    }
    owner_list owners = owners_by_spec(matrix, spec, num_ranks);
    if (matrix.is_square()) return {num_ranks, owners, owners};
    const auto columns = owners.begin() + matrix.num_rows;
    owner_list column_owner(columns, owners.end());
    owners.erase(columns, owners.end());
    return {num_ranks, std::move(owners), std::move(column_owner)};
}

}  // namespace crossdock
