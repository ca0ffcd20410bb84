// What is wasted where items are handled before better ones have come: shortest paths and PHOLD over streams, with all
// workers of a machine, event by event.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "bench/stream/random.hpp"
#include "crossdock/error.hpp"
#include "crossdock/machine.hpp"
#include "satellites/studies/print_record.hpp"
#include "src/stream/scheme.hpp"
#include "tools/inputs/generate.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

struct study_options {
    int nodes = 2;
    int processes = 8;  // of a node
    int workers = 8;    // of a process
    stream_scheme scheme = stream_scheme::wps;
    std::size_t buffer_items = 1024;
    double item_seconds = 4e-8;  // of a core, to push an item and again to handle it
    double message_seconds =
        2.672e-6;                // of a communication thread, to send one and again to receive it
    std::size_t turn_items = 8;  // that a worker handles before it sees what has come
    std::string machine = "generic_100g";
    std::vector<std::string> workloads{"sssp", "phold"};
    std::vector<std::string> schemes{"ww", "wps", "pp"};
    double item_ns = 40;
    double message_ns = 2672;
    int log_vertices = 14;
    count_t edges_per_vertex = 16;
    std::uint32_t lps_per_worker = 64;
    int events_per_lp = 4;
    double until = 16;  // simulated time at which PHOLD ends
    std::uint64_t seed = 1;

    int num_processes() const { return nodes * processes; }
    int num_workers() const { return num_processes() * workers; }
};

// For a vertex, a distance; for a logical process, the time of an event.
struct item {
    std::uint32_t target;
    double value;

    friend bool operator>(const item& a, const item& b) { return a.value > b.value; }
};
constexpr double item_bytes = 16;

struct message {
    int source;  // a process
    int place;   // a worker under `ww`, or a process
    std::vector<item> items;
};

enum class event_kind {
    turn,       // a worker's
    leaves,     // a message, at its process's thread
    arrives,    // likewise
    delivered,  // to the workers
};

struct event {
    double time;
    std::uint64_t number;  // events at one time happen in the order in which they were made
    event_kind kind;
    std::size_t index;  // of a worker, or of a message

    friend bool operator>(const event& a, const event& b) {
        return std::pair(a.time, a.number) > std::pair(b.time, b.number);
    }
};

// Workers handle the item with the least value that has come. One with nothing to handle sends all that is in its
// buffers; under `pp` these are its process's.
template <class Application>
class cluster {
  public:
    cluster(const study_options& options, const machine& m, Application& application)
        : options_(options),
          machine_(m),
          application_(application),
          is_shared_(fills_together(options.scheme)),
          is_for_workers_(options.scheme == stream_scheme::ww),
          workers_(static_cast<std::size_t>(options.num_workers())),
          threads_(static_cast<std::size_t>(options.num_processes())),
          ports_(static_cast<std::size_t>(options.nodes)),
          sources_(is_shared_ ? threads_.size() : workers_.size()) {
        for (auto& source : sources_)
            source.buffers.resize(is_for_workers_ ? workers_.size() : threads_.size());
    }

    void add(const item& first) { workers_[worker_of(first)].pending.push(first); }

    // Seconds until nothing is left to do.
    double run() {
        for (std::size_t w = 0; w < workers_.size(); ++w) {
            if (!workers_[w].pending.empty()) wake(w, 0);
        }
        while (!events_.empty()) {
            const event next = events_.top();
            events_.pop();
            switch (next.kind) {
                case event_kind::turn: take_turn(next.index, next.time); break;
                case event_kind::leaves: leave(next.index, next.time); break;
                case event_kind::arrives: arrive(next.index, next.time); break;
                case event_kind::delivered: deliver(next.index, next.time); break;
            }
        }
        double last = 0;
        for (const auto& worker : workers_) last = std::max(last, worker.clock);
        return last;
    }

    count_t num_messages() const { return num_messages_; }

  private:
    struct worker_state {
        double clock = 0;
        bool has_turn = false;
        std::priority_queue<item, std::vector<item>, std::greater<>> pending;
    };
    struct source_state {
        std::vector<std::vector<item>> buffers;  // by place
        std::vector<int> last_workers;           // of those that are shared
        std::vector<std::size_t> filled;         // places with items
    };

    std::size_t worker_of(const item& one) const {
        return static_cast<std::size_t>(application_.worker_of(one.target));
    }
    std::size_t process_of(std::size_t worker) const {
        return worker / static_cast<std::size_t>(options_.workers);
    }
    std::size_t node_of(std::size_t process) const {
        return process / static_cast<std::size_t>(options_.processes);
    }

    void add_event(double time, event_kind kind, std::size_t index) {
        events_.push({time, num_events_++, kind, index});
    }

    void wake(std::size_t w, double time) {
        auto& worker = workers_[w];
        if (worker.has_turn) return;
        worker.has_turn = true;
        add_event(std::max(time, worker.clock), event_kind::turn, w);
    }

    void take_turn(std::size_t w, double time) {
        auto& worker = workers_[w];
        worker.clock = time;
        for (std::size_t k = 0; k < options_.turn_items && !worker.pending.empty(); ++k) {
            const item one = worker.pending.top();
            worker.pending.pop();
            worker.clock += options_.item_seconds;
            application_.handle(one, [&](const item& next) { push(w, next); });
        }
        worker.has_turn = false;
        if (worker.pending.empty()) flush(w);
        if (!worker.pending.empty()) wake(w, worker.clock);
    }

    void push(std::size_t w, const item& one) {
        auto& worker = workers_[w];
        worker.clock += options_.item_seconds;
        const std::size_t destination = worker_of(one);
        if (destination == w) {
            worker.pending.push(one);
            return;
        }
        auto& source = source_of(w);
        const std::size_t place = is_for_workers_ ? destination : process_of(destination);
        auto& buffer = source.buffers[place];
        if (is_shared_) {
            source.last_workers.resize(source.buffers.size(), -1);
            int& last = source.last_workers[place];
            if (last >= 0 && last != static_cast<int>(w))
                worker.clock += machine_.hand_over_seconds;
            last = static_cast<int>(w);
        }
        if (buffer.empty()) source.filled.push_back(place);
        buffer.push_back(one);
        if (buffer.size() == options_.buffer_items) send(w, place);
    }

    source_state& source_of(std::size_t w) { return sources_[is_shared_ ? process_of(w) : w]; }

    void flush(std::size_t w) {
        const auto places = std::exchange(source_of(w).filled, {});
        for (const std::size_t place : places) {
            if (!source_of(w).buffers[place].empty()) send(w, place);
        }
    }

    void send(std::size_t w, std::size_t place) {
        auto& worker = workers_[w];
        worker.clock += machine_.hand_over_seconds;
        const std::size_t process = process_of(w);
        messages_.push_back({static_cast<int>(process), static_cast<int>(place),
                             std::exchange(source_of(w).buffers[place], {})});
        const bool is_near = destination_of(messages_.back()) == process;
        add_event(worker.clock, is_near ? event_kind::delivered : event_kind::leaves,
                  messages_.size() - 1);
    }

    std::size_t destination_of(const message& one) const {
        const auto place = static_cast<std::size_t>(one.place);
        return is_for_workers_ ? process_of(place) : place;
    }

    // When the thread is done that begins with a message at `time` at the earliest.
    double pass_thread(std::size_t process, double time, double seconds) {
        double& clock = threads_[process];
        return clock = std::max(clock, time) + seconds;
    }

    void leave(std::size_t index, double time) {
        const auto& one = messages_[index];
        ++num_messages_;
        const auto source = static_cast<std::size_t>(one.source);
        double out = pass_thread(source, time, options_.message_seconds);
        const std::size_t destination = destination_of(one);
        const bool is_far = node_of(source) != node_of(destination);
        const double bytes = item_bytes * static_cast<double>(one.items.size());
        if (is_far) {
            double& port = ports_[node_of(source)];
            out = std::max(out, port);
            port = out + bytes * machine_.injection_seconds_per_byte;
        }
        const auto& way = machine_.at(is_far ? locality_level::network : locality_level::node)
                              .protocol_of(static_cast<count_t>(bytes));
        add_event(out + way.latency_seconds + bytes * way.seconds_per_byte, event_kind::arrives,
                  index);
    }

    void arrive(std::size_t index, double time) {
        const auto& one = messages_[index];
        const double sorting = is_for_workers_ ? 0
                                               : static_cast<double>(one.items.size()) *
                                                     (item_bytes * machine_.copy_seconds_per_byte +
                                                      machine_.copy_seconds_per_item);
        add_event(pass_thread(destination_of(one), time, options_.message_seconds + sorting) +
                      machine_.hand_over_seconds,
                  event_kind::delivered, index);
    }

    void deliver(std::size_t index, double time) {
        for (const item& one : std::exchange(messages_[index].items, {})) {
            const std::size_t w = worker_of(one);
            workers_[w].pending.push(one);
            wake(w, time);
        }
    }

    const study_options& options_;
    const machine& machine_;
    Application& application_;
    bool is_shared_;
    bool is_for_workers_;
    std::vector<worker_state> workers_;
    std::vector<double> threads_;  // until when they are at work
    std::vector<double> ports_;    // of nodes, out
    std::vector<source_state> sources_;
    std::vector<message> messages_;
    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::uint64_t num_events_ = 0;
    count_t num_messages_ = 0;
};

// Edges by the vertex they leave, with weights of 1 to 1000.
struct weighted_graph {
    std::vector<std::size_t> offsets;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ways;  // where to, how long

    std::size_t num_vertices() const { return offsets.size() - 1; }
};

weighted_graph make_graph(const study_options& options) {
    const count_t num_vertices = count_t{1} << options.log_vertices;
    const auto edges = generate_edges(
        {graph_model::rmat, num_vertices, num_vertices * options.edges_per_vertex, options.seed}, 0,
        1);
    weighted_graph graph{std::vector<std::size_t>(static_cast<std::size_t>(num_vertices) + 1), {}};
    for (const edge& one : edges) ++graph.offsets[static_cast<std::size_t>(one.from) + 1];
    std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
    auto next = graph.offsets;
    graph.ways.resize(edges.size());
    for (const edge& one : edges) {
        const auto ends =
            static_cast<std::uint64_t>(one.from) << 32 | static_cast<std::uint64_t>(one.to);
        constexpr std::uint64_t most_weight = 1000;
        graph.ways[next[static_cast<std::size_t>(one.from)]++] = {
            static_cast<std::uint32_t>(one.to),
            static_cast<std::uint32_t>(bench::streaming::mix(ends) % most_weight) + 1};
    }
    return graph;
}

// The vertex that most edges leave.
std::uint32_t root_of(const weighted_graph& graph) {
    std::size_t root = 0;
    for (std::size_t v = 0; v < graph.num_vertices(); ++v) {
        if (graph.offsets[v + 1] - graph.offsets[v] > graph.offsets[root + 1] - graph.offsets[root])
            root = v;
    }
    return static_cast<std::uint32_t>(root);
}

// "There is a way of this length to your vertex." A shorter one travels on at once.
class shortest_paths {
  public:
    shortest_paths(const study_options& options, const weighted_graph& graph)
        : graph_(graph),
          vertices_per_worker_(
              (graph.num_vertices() + static_cast<std::size_t>(options.num_workers()) - 1) /
              static_cast<std::size_t>(options.num_workers())),
          distances_(graph.num_vertices(), std::numeric_limits<double>::infinity()) {}

    int worker_of(std::uint32_t vertex) const {
        return static_cast<int>(vertex / vertices_per_worker_);
    }

    template <class Push>
    void handle(const item& one, const Push& push) {
        ++num_handled_;
        if (one.value >= distances_[one.target]) return;
        ++num_improved_;
        distances_[one.target] = one.value;
        for (std::size_t e = graph_.offsets[one.target]; e < graph_.offsets[one.target + 1]; ++e)
            push({graph_.ways[e].first, one.value + graph_.ways[e].second});
    }

    const std::vector<double>& distances() const { return distances_; }

    // Of what was handled, one for each vertex was needed: the one that brought what stays.
    json counts() const {
        const auto reached =
            std::ranges::count_if(distances_, [](double d) { return std::isfinite(d); });
        return {{"handled", num_handled_},
                {"wasted", num_handled_ - reached},
                {"superseded", num_improved_ - reached}};
    }

  private:
    const weighted_graph& graph_;
    std::size_t vertices_per_worker_;
    std::vector<double> distances_;
    count_t num_handled_ = 0;
    count_t num_improved_ = 0;
};

// Each event makes another one, of a random logical process. One that is earlier than what its process has seen is
// rejected.
class phold {
  public:
    explicit phold(const study_options& options)
        : options_(options),
          draw_(options.seed, 0),
          seen_(static_cast<std::size_t>(options.num_workers()) * options.lps_per_worker) {}

    int worker_of(std::uint32_t lp) const { return static_cast<int>(lp / options_.lps_per_worker); }

    item later(double time) {
        constexpr double lookahead = 0.25;
        constexpr std::uint64_t parts = std::uint64_t{1} << 32;
        const double share =
            (static_cast<double>(draw_.below(parts)) + 0.5) / static_cast<double>(parts);
        return {static_cast<std::uint32_t>(draw_.below(seen_.size())),
                time + lookahead - std::log(share)};
    }

    template <class Push>
    void handle(const item& one, const Push& push) {
        ++num_handled_;
        double& seen = seen_[one.target];
        if (one.value < seen) ++num_rejected_;
        seen = std::max(seen, one.value);
        if (one.value < options_.until) push(later(one.value));
    }

    json counts() const { return {{"handled", num_handled_}, {"rejected", num_rejected_}}; }
    std::size_t num_lps() const { return seen_.size(); }

  private:
    const study_options& options_;
    bench::streaming::random_series draw_;
    std::vector<double> seen_;
    count_t num_handled_ = 0;
    count_t num_rejected_ = 0;
};

template <class Application>
json outcome(const std::string& workload, const study_options& options, Application& application,
             cluster<Application>& all) {
    const double seconds = all.run();
    json result = application.counts();
    result["workload"] = workload;
    result["scheme"] = to_string(options.scheme);
    result["messages"] = all.num_messages();
    result["simulated_seconds"] = seconds;
    fmt::print(stderr, "{}\n", result.dump());
    return result;
}

json sssp_case(const study_options& options, const machine& m, const weighted_graph& graph,
               const std::vector<double>& expected) {
    shortest_paths paths(options, graph);
    cluster<shortest_paths> all(options, m, paths);
    all.add({root_of(graph), 0});
    json result = outcome("sssp", options, paths, all);
    if (!expected.empty() && paths.distances() != expected)
        throw error(errc::internal, "sssp has wrong distances");
    return result;
}

// One worker handles in Dijkstra's order.
std::vector<double> expected_distances(study_options options, const machine& m,
                                       const weighted_graph& graph) {
    options.nodes = options.processes = options.workers = 1;
    shortest_paths paths(options, graph);
    cluster<shortest_paths> all(options, m, paths);
    all.add({root_of(graph), 0});
    all.run();
    return paths.distances();
}

json phold_case(const study_options& options, const machine& m) {
    phold events(options);
    cluster<phold> all(options, m, events);
    for (std::size_t k = 0; k < events.num_lps() * static_cast<std::size_t>(options.events_per_lp);
         ++k)
        all.add(events.later(0));
    return outcome("phold", options, events, all);
}

json run(study_options options) {
    const auto m = load_machine(options.machine);
    options.item_seconds = options.item_ns * 1e-9;
    options.message_seconds = options.message_ns * 1e-9;
    json cases = json::array();
    for (const auto& workload : options.workloads) {
        weighted_graph graph;
        std::vector<double> expected;
        if (workload == "sssp") {
            graph = make_graph(options);
            expected = expected_distances(options, m, graph);
        }
        for (const auto& scheme : options.schemes) {
            options.scheme = stream_scheme_from_string(scheme);
            cases.push_back(workload == "sssp" ? sssp_case(options, m, graph, expected)
                                               : phold_case(options, m));
        }
    }
    return {{"nodes", options.nodes},
            {"processes_per_node", options.processes},
            {"workers_per_process", options.workers},
            {"buffer_items", options.buffer_items},
            {"machine", options.machine},
            {"log_vertices", options.log_vertices},
            {"events_per_lp", options.events_per_lp},
            {"cases", std::move(cases)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Replays workloads whose items may come too late, with all workers; prints JSON");
    study_options options;
    app.add_option("--nodes", options.nodes)->capture_default_str();
    app.add_option("--processes", options.processes, "Of a node")->capture_default_str();
    app.add_option("--workers", options.workers, "Of a process")->capture_default_str();
    app.add_option("--schemes", options.schemes, "ww, wps, pp")->delimiter(',');
    app.add_option("--workloads", options.workloads, "sssp, phold")->delimiter(',');
    app.add_option("--buffer-items", options.buffer_items)->capture_default_str();
    app.add_option("--item-ns", options.item_ns,
                   "Of a core, to push an item and again to handle it")
        ->capture_default_str();
    app.add_option("--message-ns", options.message_ns,
                   "Of a thread, to send a message and again to receive it")
        ->capture_default_str();
    app.add_option("--turn-items", options.turn_items,
                   "That a worker handles before it looks for others")
        ->capture_default_str();
    app.add_option("--log-vertices", options.log_vertices, "Of the R-MAT graph")
        ->capture_default_str();
    app.add_option("--edges-per-vertex", options.edges_per_vertex)->capture_default_str();
    app.add_option("--lps-per-worker", options.lps_per_worker, "Of PHOLD")->capture_default_str();
    app.add_option("--events-per-lp", options.events_per_lp)->capture_default_str();
    app.add_option("--until", options.until, "Simulated time at which PHOLD ends")
        ->capture_default_str();
    app.add_option("--machine", options.machine, "Preset or file")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}
