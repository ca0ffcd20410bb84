// Connected components of an undirected graph: every vertex is labeled with the least number of a
// vertex that it is connected to.
//
// A vertex starts with its own number and offers its label to its neighbors; who is offered less takes
// it, and offers it on. One `update` with `minimum` brings all offers of a round to the labels. Offers
// to the same vertex meet on the way, and only the least travels on.
#include <fmt/format.h>

#include <queue>

#include "common/graph.hpp"
#include "common/program.hpp"
#include "crossdock/discover_topology.hpp"

using namespace examples;

static std::vector<count_t> serial_labels(const crossdock::sparse_matrix& graph) {
    constexpr count_t none = -1;
    std::vector<count_t> labels(static_cast<std::size_t>(graph.num_rows), none);
    for (count_t start = 0; start < graph.num_rows; ++start) {
        if (labels[static_cast<std::size_t>(start)] != none) continue;
        labels[static_cast<std::size_t>(start)] = start;
        std::queue<count_t> reached({start});
        for (; !reached.empty(); reached.pop()) {
            for (const count_t neighbor : graph.row(reached.front())) {
                count_t& label = labels[static_cast<std::size_t>(neighbor)];
                if (label == none) reached.push(neighbor);
                label = start;
            }
        }
    }
    return labels;
}

static bool connected_components(const crossdock::context& world, const graph_source& source) {
    const graph_part graph = make_graph(world, source, direction::undirected);

    // The array is cut as the graph is: `own` has the labels of the vertices from graph.first on.
    crossdock::distributed_array<count_t> labels(world, graph.num_vertices());
    const std::span<count_t> own = labels.local();
    std::iota(own.begin(), own.end(), graph.first);

    // What each label was when it was last offered; at first none was.
    std::vector<count_t> offered(own.size(), graph.num_vertices());
    int num_rounds = 0;
    while (on_any_rank(!std::equal(own.begin(), own.end(), offered.begin()))) {
        std::vector<count_t> neighbors, offers;
        for (std::size_t v = 0; v < own.size(); ++v) {
            if (own[v] == offered[v]) continue;
            for (const count_t neighbor : graph.rows.row(static_cast<count_t>(v))) {
                neighbors.push_back(neighbor);
                offers.push_back(own[v]);
            }
            offered[v] = own[v];
        }
        labels.update(neighbors, offers, crossdock::minimum());
        ++num_rounds;
    }

    const auto found = entries_on_rank_0(labels, world);
    labels.close();
    count_t num_components = 0;
    for (std::size_t v = 0; v < found.size(); ++v) {
        if (found[v] == static_cast<count_t>(v)) ++num_components;
    }
    return report(world,
                  fmt::format("{}: {} vertices, {} components, {} rounds", source.name(),
                              graph.num_vertices(), num_components, num_rounds),
                  found == serial_labels(graph.all));
}

int main(int argc, char** argv) {
    CLI::App app("Finds the connected components of a graph");
    graph_source source;
    source.add_to(app, "bcspwr10.mtx.gz");
    return run(app, argc, argv,
               [&](const auto& world) { return connected_components(world, source); });
}
