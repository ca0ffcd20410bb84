// PageRank of a directed graph, by power iteration.
//
// In every iteration each vertex gives its score in equal parts to those it links to. The links are
// the same in every iteration, so the requests are prepared: their indices travel once, and an
// iteration sends nothing but shares. Shares for the same vertex are added before they leave a rank.
//
// A sum of floating-point numbers depends on its order. The result is therefore compared with the
// serial one up to a relative error, which is far above what rounding can do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/graph.hpp"
#include "common/program.hpp"

using namespace examples;

constexpr double damping = 0.85;
constexpr int num_iterations = 50;
constexpr double tolerance = 1e-10;

// What every vertex gets in an iteration, linked to or not: vertices without links give to all.
static double base_score(double score_without_links, double num_vertices) {
    return (1 - damping + damping * score_without_links) / num_vertices;
}

static std::vector<double> serial_scores(const crossdock::sparse_matrix& graph) {
    const auto n = static_cast<double>(graph.num_rows);
    std::vector<double> scores(static_cast<std::size_t>(graph.num_rows), 1 / n);
    for (int iteration = 0; iteration < num_iterations; ++iteration) {
        double without_links = 0;
        std::vector<double> gained(scores.size());
        for (std::size_t v = 0; v < scores.size(); ++v) {
            const auto links = graph.row(static_cast<count_t>(v));
            if (links.empty()) without_links += scores[v];
            for (const count_t to : links) {
                gained[static_cast<std::size_t>(to)] +=
                    scores[v] / static_cast<double>(links.size());
            }
        }
        for (std::size_t v = 0; v < scores.size(); ++v) {
            scores[v] = base_score(without_links, n) + damping * gained[v];
        }
    }
    return scores;
}

static bool is_close(double score, double expected) {
    return std::abs(score - expected) <= tolerance * expected;
}

static bool pagerank(const crossdock::context& world, const graph_source& source) {
    const graph_part graph = make_graph(world, source, direction::directed);
    const auto n = static_cast<double>(graph.num_vertices());
    crossdock::distributed_array<double> scores(world, graph.num_vertices());
    const auto own = scores.local();
    std::fill(own.begin(), own.end(), 1 / n);

    auto links = scores.prepare(graph.rows.columns);
    std::vector<double> shares(graph.rows.columns.size());
    for (int iteration = 0; iteration < num_iterations; ++iteration) {
        double without_links = 0;
        auto share = shares.begin();
        for (std::size_t v = 0; v < own.size(); ++v) {
            const auto num_links = graph.rows.row(static_cast<count_t>(v)).size();
            if (num_links == 0) without_links += own[v];
            share =
                std::fill_n(share, num_links, damping * own[v] / static_cast<double>(num_links));
        }
        MPI_Allreduce(MPI_IN_PLACE, &without_links, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        std::fill(own.begin(), own.end(), base_score(without_links, n));
        links.update(shares, crossdock::sum());
    }

    const auto found = entries_on_rank_0(scores, world);
    scores.close();
    const auto expected = serial_scores(graph.all);
    const auto best = std::max_element(found.begin(), found.end()) - found.begin();
    return report(
        world,
        fmt::format("{}: {} vertices, {} links, vertex {} has the best score", source.name(),
                    graph.num_vertices(), graph.all.num_entries(), best),
        std::equal(found.begin(), found.end(), expected.begin(), expected.end(), is_close));
}

int main(int argc, char** argv) {
    CLI::App app("Scores the vertices of a directed graph by PageRank");
    graph_source source;
    source.add_to(app, "radfr1.mtx.gz");
    return run(app, argc, argv, [&](const auto& world) { return pagerank(world, source); });
}
