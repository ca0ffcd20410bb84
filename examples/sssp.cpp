// Shortest paths from one vertex of an undirected graph, without rounds: an offer to a vertex is an item.
//
// Who has the vertex handles the offer: if it is shorter than what is known, it becomes the distance and
// goes on to all neighbors. Offers to one vertex that meet in a buffer become one. When no handler has
// anything left to push, the stream comes to rest, and all distances are final.
#include <fmt/format.h>

#include <limits>
#include <queue>

#include "common/graph.hpp"
#include "common/program.hpp"
#include "crossdock/stream.hpp"

using namespace examples;
using crossdock::worker_id;

constexpr double unreachable = std::numeric_limits<double>::infinity();

struct offer {
    count_t vertex;
    double distance;
};

// Offers to one vertex are as good as the shortest of them.
struct vertex_of {
    std::uint64_t operator()(const offer& o) const { return static_cast<std::uint64_t>(o.vertex); }
};
struct shorter {
    void operator()(offer& into, const offer& o) const {
        into.distance = std::min(into.distance, o.distance);
    }
};
using offers = crossdock::stream<offer, crossdock::combine_by_key<vertex_of, shorter>>;

// Calls what(neighbor, weight).
template <class What>
static void for_each_edge(const crossdock::sparse_matrix& graph, count_t row, const What& what) {
    const auto first = graph.row_offsets[static_cast<std::size_t>(row)];
    const auto neighbors = graph.row(row);
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
        what(neighbors[i], graph.values[static_cast<std::size_t>(first) + i]);
    }
}

// Dijkstra's.
static std::vector<double> serial_distances(const crossdock::sparse_matrix& graph, count_t start) {
    std::vector<double> distances(static_cast<std::size_t>(graph.num_rows), unreachable);
    const auto is_longer = [](const offer& a, const offer& b) { return a.distance > b.distance; };
    std::priority_queue<offer, std::vector<offer>, decltype(is_longer)> known(is_longer);
    known.push({start, 0});
    while (!known.empty()) {
        const offer best = known.top();
        known.pop();
        double& distance = distances[static_cast<std::size_t>(best.vertex)];
        if (best.distance >= distance) continue;
        distance = best.distance;
        for_each_edge(graph, best.vertex, [&](count_t neighbor, double weight) {
            known.push({neighbor, best.distance + weight});
        });
    }
    return distances;
}

// The distances of this rank's vertices.
static std::vector<double> distances_from(const crossdock::context& world, const graph_part& graph,
                                          count_t start, const crossdock::stream_options& options) {
    std::vector<double> distances(static_cast<std::size_t>(graph.num_own()), unreachable);
    const auto worker_for = [&](count_t vertex) {
        const rank_t owner = graph.owners.owner(vertex);
        return worker_id{owner,
                         static_cast<int>((vertex - graph.owners.first(owner)) % options.workers)};
    };
    const auto handle = [&](auto& port, const auto& batch) {
        for (const offer& o : batch) {
            double& distance = distances[static_cast<std::size_t>(o.vertex - graph.first)];
            if (o.distance >= distance) continue;
            distance = o.distance;
            for_each_edge(graph.rows, o.vertex - graph.first, [&](count_t neighbor, double weight) {
                port.push(worker_for(neighbor), {neighbor, o.distance + weight});
            });
        }
    };
    offers stream(world, handle, options);
    run_workers(options.workers, [&](int w) {
        if (stream.port(w).id() == worker_for(start))
            stream.port(w).push(worker_for(start), {start, 0});
        stream.port(w).drain().wait();
    });
    stream.close();
    return distances;
}

static bool sssp(const crossdock::context& world, const graph_source& source, count_t start,
                 const crossdock::stream_options& options) {
    const graph_part graph = make_graph(world, source, direction::undirected);
    if (start >= graph.num_vertices()) {
        throw crossdock::error(
            crossdock::errc::index_out_of_range,
            fmt::format("vertex {} is outside [0, {})", start, graph.num_vertices()));
    }
    const auto found = parts_on_rank_0(world, distances_from(world, graph, start, options));
    double longest = 0;
    count_t num_reached = 0;
    for (const double distance : found) {
        if (distance == unreachable) continue;
        longest = std::max(longest, distance);
        ++num_reached;
    }
    return report(world,
                  fmt::format("{}: {} of {} vertices reached from {}, at most {:g} away",
                              source.name(), num_reached, graph.num_vertices(), start, longest),
                  world.rank() != 0 || found == serial_distances(graph.all, start));
}

int main(int argc, char** argv) {
    CLI::App app("Finds the shortest paths from one vertex");
    graph_source source;
    source.add_to(app, "msc01050.mtx.gz");
    count_t start = 0;
    app.add_option("--start", start, "the vertex to start from")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    crossdock::stream_options options;
    options.workers = 2;
    options.buffer_items = 64;
    app.add_option("--workers", options.workers, "threads of a rank")->capture_default_str();
    app.add_option("--route", options.route, "between ranks")->capture_default_str();
    const auto body = [&](const auto& world) { return sssp(world, source, start, options); };
    return run(app, argc, argv, body, MPI_THREAD_SERIALIZED);
}
