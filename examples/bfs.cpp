// Breadth-first search in an undirected graph, level by level: how far every vertex is from the start,
// and from which neighbor it was reached.
//
// The vertices of the last level are the frontier. They offer themselves as parents to all neighbors,
// in one `update` with `minimum`. An offer of an earlier level is less, so a vertex that was reached
// keeps its parent; among offers of one level the parent of smallest number wins.
//
// The array learns from `discover_topology` which ranks share a node, and `auto` chooses the route by it.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>

#include "common/graph.hpp"
#include "common/program.hpp"
#include "crossdock/discover_topology.hpp"

using namespace examples;

constexpr count_t never = std::numeric_limits<count_t>::max();

struct visit {
    count_t level = never;
    count_t parent = never;

    friend auto operator<=>(const visit&, const visit&) = default;
};

static std::vector<visit> serial_visits(const crossdock::sparse_matrix& graph, count_t start) {
    std::vector<visit> visits(static_cast<std::size_t>(graph.num_rows));
    if (visits.empty()) return visits;
    visits[static_cast<std::size_t>(start)] = {0, start};
    std::vector<count_t> frontier{start};
    for (count_t level = 1; !frontier.empty(); ++level) {
        std::vector<count_t> next;
        for (const count_t vertex : frontier) {
            for (const count_t neighbor : graph.row(vertex)) {
                visit& reached = visits[static_cast<std::size_t>(neighbor)];
                if (reached.level == never) next.push_back(neighbor);
                if (reached.level == never) reached = {level, vertex};
            }
        }
        std::sort(next.begin(), next.end());  // the parent of smallest number comes first
        frontier = std::move(next);
    }
    return visits;
}

// This rank's vertices of one level.
static std::vector<count_t> vertices_of(std::span<const visit> own, count_t level) {
    std::vector<count_t> found;
    for (std::size_t v = 0; v < own.size(); ++v) {
        if (own[v].level == level) found.push_back(static_cast<count_t>(v));
    }
    return found;
}

static bool bfs(const crossdock::context& world, const graph_source& source, count_t start) {
    const graph_part graph = make_graph(world, source, direction::undirected);
    crossdock::distributed_array<visit> visits(world, graph.num_vertices());
    const auto own = visits.local();
    std::fill(own.begin(), own.end(), visit());

    // Queued by one rank, done by all. A start that is no vertex is an error on all of them.
    if (world.rank() == 0) visits.write(start, {0, start});
    visits.step();

    count_t level = 0;
    auto frontier = vertices_of(own, level);
    while (on_any_rank(!frontier.empty())) {
        ++level;
        std::vector<count_t> neighbors;
        std::vector<visit> offers;
        for (const count_t v : frontier) {
            const auto row = graph.rows.row(v);
            neighbors.insert(neighbors.end(), row.begin(), row.end());
            offers.resize(neighbors.size(), {level, graph.first + v});
        }
        visits.update(neighbors, offers, crossdock::minimum());
        frontier = vertices_of(own, level);
    }

    const auto found = entries_on_rank_0(visits, world);
    visits.close();
    const auto num_reached =
        std::count_if(found.begin(), found.end(), [](const visit& v) { return v.level != never; });
    return report(
        world,
        fmt::format("{}: {} of {} vertices reached from {} in {} levels along {}", source.name(),
                    num_reached, graph.num_vertices(), start, level, visits.route()),
        found == serial_visits(graph.all, start));
}

int main(int argc, char** argv) {
    CLI::App app("Searches a graph breadth first");
    graph_source source;
    source.add_to(app, "bcspwr10.mtx.gz");
    count_t start = 0;
    app.add_option("--start", start, "the vertex to start from")->capture_default_str();
    return run(app, argc, argv, [&](const auto& world) { return bfs(world, source, start); });
}
