// The minimum spanning forest of an undirected graph, by Boruvka's algorithm.
//
// In every round each component takes the lightest edge that leads out of it, and hooks itself to the
// component where that edge leads. Pointer doubling then brings every vertex to the root of its new
// component. The requests have no locality to speak of, and many are for the same few entries, those
// of large components: `hypercube` lets them meet on the way.
//
// Requests are made in all three styles: queued, as a batch in one call, and prepared.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>

#include "common/graph.hpp"
#include "common/program.hpp"

using namespace examples;
using crossdock::distributed_array;

constexpr count_t nowhere = std::numeric_limits<count_t>::max();

// The ends decide among edges of equal weight, so that no cycle can close but one of two components
// that take the same edge.
struct weighted_edge {
    double weight = std::numeric_limits<double>::infinity();
    count_t low = nowhere;
    count_t high = nowhere;

    friend auto operator<=>(const weighted_edge&, const weighted_edge&) = default;
};

// An edge out of a component, and the component where it leads.
struct hook {
    weighted_edge edge;
    count_t component = nowhere;

    friend auto operator<=>(const hook&, const hook&) = default;
};

static std::vector<weighted_edge> serial_forest(const crossdock::sparse_matrix& graph) {
    std::vector<weighted_edge> edges;
    for (count_t v = 0; v < graph.num_rows; ++v) {
        auto weight = graph.values.begin() + graph.row_offsets[static_cast<std::size_t>(v)];
        for (const count_t neighbor : graph.row(v)) {
            if (v < neighbor) edges.push_back({*weight, v, neighbor});
            ++weight;
        }
    }
    std::sort(edges.begin(), edges.end());

    std::vector<count_t> parents(static_cast<std::size_t>(graph.num_rows));
    std::iota(parents.begin(), parents.end(), count_t{0});
    const auto root = [&](count_t v) {
        while (parents[static_cast<std::size_t>(v)] != v) {
            v = parents[static_cast<std::size_t>(v)] =
                parents[static_cast<std::size_t>(parents[static_cast<std::size_t>(v)])];
        }
        return v;
    };
    const auto closes_cycle = [&](const weighted_edge& e) {
        const count_t one = root(e.low), other = root(e.high);
        parents[static_cast<std::size_t>(one)] = other;
        return one == other;
    };
    std::erase_if(edges, closes_cycle);
    return edges;
}

// The least hook of every component, at the entry of its root; true if this rank knows of any.
static bool find_lightest(const graph_part& graph, distributed_array<count_t>& components,
                          crossdock::prepared_batch<count_t>& neighbors,
                          distributed_array<hook>& lightest) {
    const auto own = components.local();
    std::vector<count_t> components_of_neighbors(graph.rows.columns.size());
    neighbors.read(components_of_neighbors);

    std::fill(lightest.local().begin(), lightest.local().end(), hook());
    bool is_any = false;
    std::size_t entry = 0;
    for (std::size_t v = 0; v < own.size(); ++v) {
        const count_t vertex = graph.first + static_cast<count_t>(v);
        for (const count_t neighbor : graph.rows.row(static_cast<count_t>(v))) {
            const count_t component = components_of_neighbors[entry];
            const weighted_edge edge{graph.rows.values[entry], std::min(vertex, neighbor),
                                     std::max(vertex, neighbor)};
            ++entry;
            if (component == own[v]) continue;
            lightest.update(own[v], {edge, component});  // queued for the step
            is_any = true;
        }
    }
    lightest.step(crossdock::minimum());
    return is_any;
}

// Roots hook themselves to other components and note the edge. Of two that take the same edge the one
// of smaller number stays a root.
static void hook_roots(const graph_part& graph, distributed_array<count_t>& components,
                       std::span<const hook> hooks, std::span<weighted_edge> forest) {
    const auto own = components.local();
    for (std::size_t v = 0; v < own.size(); ++v) {
        if (hooks[v].component != nowhere) own[v] = hooks[v].component;
    }
    std::vector<count_t> parents(own.size(), nowhere);
    for (std::size_t v = 0; v < own.size(); ++v) {
        if (hooks[v].component != nowhere) components.read(own[v], &parents[v]);  // queued
    }
    components.step();
    for (std::size_t v = 0; v < own.size(); ++v) {
        if (hooks[v].component == nowhere) continue;
        const count_t vertex = graph.first + static_cast<count_t>(v);
        if (parents[v] == vertex && vertex < own[v]) {
            own[v] = vertex;
        } else {
            forest[v] = hooks[v].edge;
        }
    }
}

// Pointer doubling: every vertex takes the component of its component until that changes nothing.
static void find_roots(distributed_array<count_t>& components) {
    const auto own = components.local();
    std::vector<count_t> parents(own.size());
    bool is_changed = true;
    while (on_any_rank(is_changed)) {
        components.read(own, parents);
        is_changed = !std::equal(own.begin(), own.end(), parents.begin());
        std::copy(parents.begin(), parents.end(), own.begin());
    }
}

static bool boruvka(const crossdock::context& world, const graph_source& source) {
    const graph_part graph = make_graph(world, source, direction::undirected);
    const count_t n = graph.num_vertices();
    distributed_array<count_t> components(world, n, {.route = "hypercube"});
    distributed_array<hook> lightest(world, n, {.route = "hypercube"});
    distributed_array<weighted_edge> forest(world, n);  // each root hooks itself once at most
    std::iota(components.local().begin(), components.local().end(), graph.first);
    std::fill(forest.local().begin(), forest.local().end(), weighted_edge());

    // Whose components are read is the same in every round: indices travel once.
    auto neighbors = components.prepare(graph.rows.columns);
    int num_rounds = 0;
    while (on_any_rank(find_lightest(graph, components, neighbors, lightest))) {
        hook_roots(graph, components, lightest.local(), forest.local());
        find_roots(components);
        ++num_rounds;
    }

    auto found = entries_on_rank_0(forest, world);
    std::erase(found, weighted_edge());
    std::sort(found.begin(), found.end());
    components.close();
    lightest.close();
    forest.close();
    return report(world,
                  fmt::format("{}: {} vertices, {} edges in the forest, {} rounds", source.name(),
                              n, found.size(), num_rounds),
                  found == serial_forest(graph.all));
}

int main(int argc, char** argv) {
    CLI::App app("Finds the minimum spanning forest of a graph");
    graph_source source;
    source.add_to(app, "msc01050.mtx.gz");
    return run(app, argc, argv, [&](const auto& world) { return boruvka(world, source); });
}
