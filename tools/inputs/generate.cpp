#include "generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>

#include "crossdock/block_partition.hpp"
#include "geometric.hpp"
#include "random_block.hpp"
#include "rmat.hpp"

namespace crossdock {

namespace {

struct named_model {
    std::string_view name;
    graph_model model;
};
constexpr std::array<named_model, 3> models{{
    {"rmat", graph_model::rmat},
    {"rgg", graph_model::rgg},
    {"gnm", graph_model::gnm},
}};

void check_sizes(count_t num_vertices, count_t num_edges) {
    if (num_vertices < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("a graph cannot have {} vertices", num_vertices));
    }
    if (num_edges < 0) {
        throw error(errc::invalid_argument, fmt::format("a graph cannot have {} edges", num_edges));
    }
}

// A number below `bound` from 64 random bits: the upper half of their product.
count_t below(count_t bound, std::uint64_t bits) {
    __extension__ using wide = unsigned __int128;
    return static_cast<count_t>(wide{bits} * static_cast<std::uint64_t>(bound) >> 64);
}

std::vector<edge> uniform_edges(const graph_spec& spec, const index_range& part) {
    std::vector<edge> edges;
    edges.reserve(static_cast<std::size_t>(part.size()));
    for (count_t i = part.first; i < part.last; ++i) {
        const auto words =
            random_block({spec.seed, random_use::ends, static_cast<std::uint64_t>(i)});
        edges.push_back({below(spec.num_vertices, words[0]), below(spec.num_vertices, words[1])});
    }
    return edges;
}

std::vector<edge> rmat_edges(const graph_spec& spec, const index_range& part) {
    const rmat_graph graph(spec.num_vertices, spec.seed);
    std::vector<edge> edges;
    edges.reserve(static_cast<std::size_t>(part.size()));
    for (count_t i = part.first; i < part.last; ++i) {
        const edge drawn = graph.unscrambled(i);
        edges.push_back({graph.scrambled(drawn.from), graph.scrambled(drawn.to)});
    }
    return edges;
}

geometric_graph geometric(const graph_spec& spec) {
    return {spec.num_vertices, connection_radius(spec.num_vertices, spec.num_edges), spec.seed};
}

// Two points of the unit square are closer than r <= 1 with this probability.
double probability_of_closeness(double r) {
    return r * r * (std::numbers::pi - 8.0 / 3.0 * r + r * r / 2);
}

}  // namespace

graph_model parse_graph_model(std::string_view name) {
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const named_model& one) { return one.name == name; });
    if (found == models.end()) {
        throw error(errc::invalid_argument,
                    fmt::format("no graph model is called \"{}\"; there are rmat, rgg, gnm", name));
    }
    return found->model;
}

std::string to_string(graph_model model) {
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const named_model& one) { return one.model == model; });
    return std::string(found->name);
}

index_range block_of(count_t length, rank_t rank, rank_t num_ranks) {
    if (length < 0 || num_ranks < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("{} indices cannot be divided among {} ranks", length, num_ranks));
    }
    if (rank < 0 || rank >= num_ranks) {
        throw error(errc::rank_out_of_range,
                    fmt::format("rank {} is outside [0, {})", rank, num_ranks));
    }
    const auto blocks = block_partition::blocks(length, num_ranks);
    return {blocks.first(rank), blocks.first(rank + 1)};
}

double connection_radius(count_t num_vertices, count_t num_edges) {
    check_sizes(num_vertices, num_edges);
    const auto n = static_cast<double>(num_vertices);
    const double num_pairs = n * (n - 1) / 2;
    const auto wanted = static_cast<double>(num_edges);
    const double most = num_pairs * probability_of_closeness(1);
    if (wanted > most) {
        throw error(
            errc::invalid_argument,
            fmt::format("{} vertices in a square cannot have {} edges; a radius of 1 gives {:.1f}",
                        num_vertices, num_edges, most));
    }
    if (num_edges == 0) return 0;
    // The probability grows with the radius; halve the interval until nothing lies between.
    double too_small = 0;
    double large_enough = 1;
    while (true) {
        const double middle = too_small + (large_enough - too_small) / 2;
        if (middle <= too_small || middle >= large_enough) return large_enough;
        if (num_pairs * probability_of_closeness(middle) < wanted) {
            too_small = middle;
        } else {
            large_enough = middle;
        }
    }
}

std::vector<edge> generate_edges(const graph_spec& spec, rank_t rank, rank_t num_ranks) {
    check_sizes(spec.num_vertices, spec.num_edges);
    if (spec.model == graph_model::rgg) {
        return geometric(spec).edges_from(block_of(spec.num_vertices, rank, num_ranks));
    }
    const index_range part = block_of(spec.num_edges, rank, num_ranks);
    return spec.model == graph_model::rmat ? rmat_edges(spec, part) : uniform_edges(spec, part);
}

std::vector<point> vertex_points(const graph_spec& spec, const index_range& vertices) {
    if (spec.model != graph_model::rgg) {
        throw error(errc::invalid_argument,
                    fmt::format("the vertices of {} have no points; those of rgg have",
                                to_string(spec.model)));
    }
    const geometric_graph graph = geometric(spec);
    if (vertices.first < 0 || vertices.last > spec.num_vertices || vertices.size() < 0) {
        throw error(errc::index_out_of_range,
                    fmt::format("vertices [{}, {}) are outside [0, {})", vertices.first,
                                vertices.last, spec.num_vertices));
    }
    return graph.points_of(vertices);
}

}  // namespace crossdock
