// Batches of a distributed array on all routes, simulated: the study of combined requests, at its size.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "satellites/studies/batch_time.hpp"
#include "satellites/studies/print_record.hpp"
#include "tools/inputs/array/lockstep.hpp"

namespace {

using namespace crossdock;
using namespace crossdock::bench;
using nlohmann::json;
using studies::batch;
using studies::batch_cost;
using studies::entry_t;

struct study_options {
    rank_t ranks = 4096;
    rank_t per_node = 48;
    std::string machine = "supermuc_ng";
    std::vector<std::string> workloads{"boruvka", "neighborhood", "overload", "overload_one"};
    std::vector<std::string> graphs{"rmat_unscrambled", "rmat", "rgg", "gnm"};
    count_t edges_per_rank = count_t{1} << 12;
    std::vector<count_t> entries{256, 8192};
    count_t requests_per_rank = count_t{1} << 15;
    std::vector<std::string> routes{"direct",   "three_step", "locality:1", "locality",
                                    "grid:2",   "grid:3",     "grid:4",     "hypercube",
                                    "increase", "decrease",   "hourglass",  "inverse_hourglass"};
    std::vector<std::string> uncombined{"grid:2", "hypercube"};
    bool leaves_out_plain = false;
    bool searches = false;
    bool is_collective = false;
    bool compares = false;
};

constexpr std::uint64_t seed = 1;

// As in the study: 2^17 or 2^15 edges for 2^13 vertices.
count_t edges_per_vertex(const std::string& workload) { return workload == "boruvka" ? 16 : 4; }

// R-MAT as it is drawn: the largest vertices have the smallest numbers, so one rank owns many of them.
std::vector<edge> unscrambled_rmat_edges(count_t num_vertices, count_t num_edges, rank_t rank,
                                         rank_t num_ranks) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(num_vertices)))
        throw error(errc::invalid_argument, "rmat_unscrambled needs a power of two of vertices");
    constexpr double both_small = 0.57;
    constexpr double one_small = 0.19;
    std::mt19937_64 draw(seed + static_cast<std::uint64_t>(rank));
    std::vector<edge> edges;
    for (count_t k = block_of(num_edges, rank, num_ranks).size(); k > 0; --k) {
        edge one;
        for (count_t bit = num_vertices / 2; bit > 0; bit /= 2) {
            const double x = static_cast<double>(draw() >> 11U) * 0x1p-53;
            if (x >= both_small + one_small) one.from += bit;
            if (x >= both_small + 2 * one_small || (x >= both_small && x < both_small + one_small))
                one.to += bit;
        }
        edges.push_back(one);
    }
    return edges;
}

array::spread_graph unscrambled_rmat(count_t num_vertices, count_t num_edges, rank_t num_ranks) {
    array::spread_graph graph{num_vertices, {}};
    for (rank_t rank = 0; rank < num_ranks; ++rank)
        graph.edges.push_back(unscrambled_rmat_edges(num_vertices, num_edges, rank, num_ranks));
    return graph;
}

std::vector<array::rank_work> work_on_graph(const study_options& options,
                                            const std::string& workload, const std::string& graph) {
    const count_t vertices = options.edges_per_rank / edges_per_vertex(workload);
    if (graph != "rmat_unscrambled") {
        const array::graph_options model{graph, vertices, options.edges_per_rank, seed};
        return array::make_work({workload, model}, options.ranks);
    }
    return array::make_work(workload,
                            unscrambled_rmat(vertices * options.ranks,
                                             options.edges_per_rank * options.ranks, options.ranks),
                            options.ranks);
}

struct study_case {
    json about;
    block_partition owners = block_partition::blocks(0, 1);
    std::vector<batch> batches;
    std::vector<std::string> phases = {};  ///< names of the batches that are told apart, if any
};

study_case case_on_graph(const study_options& options, const std::string& workload,
                         const std::string& graph) {
    const auto work = work_on_graph(options, workload, graph);
    auto run = array::run_in_lockstep(work);
    if (!run.is_verified) throw error(errc::internal, workload + " has a wrong outcome");
    study_case result{{{"workload", workload}, {"graph", graph}}, work.front().owners, {}};
    for (auto& one : run.batches) {
        // The study's vertices ask their neighbors, and add nothing to them.
        if (workload == "neighborhood" && one.kind != array::request_traits::read) continue;
        auto& kept = result.batches.emplace_back(batch{one.kind, {}});
        for (auto& indices : one.indices) {
            auto& requests = kept.requests.emplace_back(indices.begin(), indices.end());
            std::sort(requests.begin(), requests.end());
            indices = {};
        }
    }
    return result;
}

// Calls `visit` with every edge of a graph of the study's size, a rank's edges at a time.
template <class Visit>
void visit_edges(const study_options& options, const std::string& graph, count_t num_vertices,
                 Visit&& visit) {
    const count_t num_edges = options.edges_per_rank * options.ranks;
    const bool is_unscrambled = graph == "rmat_unscrambled";
    const graph_spec spec{is_unscrambled ? graph_model::rmat : parse_graph_model(graph),
                          num_vertices, num_edges, seed};
    for (rank_t rank = 0; rank < options.ranks; ++rank) {
        const auto edges =
            is_unscrambled ? unscrambled_rmat_edges(num_vertices, num_edges, rank, options.ranks)
                           : generate_edges(spec, rank, options.ranks);
        for (const edge& one : edges) visit(one);
    }
}

// The study's vertices hold their own edges, as KaGen deals them out, and read their neighbors.
study_case neighbors_case(const study_options& options, const std::string& graph) {
    const count_t num_vertices =
        options.edges_per_rank / edges_per_vertex("neighborhood") * options.ranks;
    const auto owners = block_partition::blocks(num_vertices, options.ranks);
    batch reads{array::request_traits::read,
                std::vector<std::vector<entry_t>>(static_cast<std::size_t>(options.ranks))};
    visit_edges(options, graph, num_vertices, [&](const edge& one) {
        reads.requests[static_cast<std::size_t>(owners.owner(one.from))].push_back(
            static_cast<entry_t>(one.to));
    });
    study_case result{{{"workload", "neighbors"}, {"graph", graph}}, owners, {}};
    result.batches.push_back(std::move(reads));
    return result;
}

// Of each vertex the other end of its lightest edge, or itself; weights are distinct.
std::vector<entry_t> lightest_neighbors(const study_options& options, const std::string& graph,
                                        count_t num_vertices) {
    std::vector<std::uint64_t> lightest(static_cast<std::size_t>(num_vertices),
                                        std::numeric_limits<std::uint64_t>::max());
    std::vector<entry_t> neighbors(lightest.size());
    std::iota(neighbors.begin(), neighbors.end(), entry_t{0});
    visit_edges(options, graph, num_vertices, [&](const edge& one) {
        if (one.from == one.to) return;
        const auto [low, high] = std::minmax(one.from, one.to);
        std::uint64_t weight = static_cast<std::uint64_t>(low * num_vertices + high);
        for (int round = 0; round < 2; ++round) {
            weight *= 0x9E3779B97F4A7C15U;
            weight ^= weight >> 32U;
        }
        for (const auto& [end, other] :
             {std::pair{one.from, one.to}, std::pair{one.to, one.from}}) {
            auto& least = lightest[static_cast<std::size_t>(end)];
            if (weight >= least) continue;
            least = weight;
            neighbors[static_cast<std::size_t>(end)] = static_cast<entry_t>(other);
        }
    });
    return neighbors;
}

// One round of Borůvka's algorithm whose vertices hold their own edges: what they ask for are the parents
// of their parents, until they have a root.
study_case pointers_case(const study_options& options, const std::string& graph) {
    const count_t num_vertices =
        options.edges_per_rank / edges_per_vertex("boruvka") * options.ranks;
    const auto owners = block_partition::blocks(num_vertices, options.ranks);
    auto parents = lightest_neighbors(options, graph, num_vertices);
    std::vector<entry_t> unfinished;
    for (entry_t v = 0; v < parents.size(); ++v)
        if (parents[v] != v) unfinished.push_back(v);
    study_case result{{{"workload", "pointers"}, {"graph", graph}}, owners, {}};
    for (bool is_first = true; !unfinished.empty(); is_first = false) {
        auto& reads = result.batches.emplace_back(
            batch{array::request_traits::read,
                  std::vector<std::vector<entry_t>>(static_cast<std::size_t>(options.ranks))});
        const auto before = parents;
        std::vector<entry_t> rest;
        for (const entry_t v : unfinished) {
            const entry_t parent = before[v];
            const entry_t found = before[parent];
            reads.requests[static_cast<std::size_t>(owners.owner(v))].push_back(parent);
            // Two vertices with the same lightest edge are the only cycles; the lesser becomes the root.
            const bool is_done = is_first ? found == v && v < parent : found == parent;
            if (!is_first || is_done) parents[v] = found;
            if (!is_done) rest.push_back(v);
        }
        unfinished = std::move(rest);
    }
    return result;
}

// As many reads of each entry by every rank; in what order does not matter here.
study_case overload_case(const study_options& options, count_t num_entries) {
    const count_t repeats = options.requests_per_rank / num_entries;
    std::vector<entry_t> requests;
    for (count_t k = 0; k < repeats * num_entries; ++k)
        requests.push_back(static_cast<entry_t>(k / repeats));
    return {
        {{"workload", "overload"}, {"entries", num_entries}},
        block_partition::blocks(num_entries, options.ranks),
        {{array::request_traits::read,
          std::vector<std::vector<entry_t>>(static_cast<std::size_t>(options.ranks), requests)}}};
}

// The study's: every rank writes and then reads each of rank 0's entries once. Values written to the same
// entry combine as those of a minimum do.
study_case overload_one_case(const study_options& options, count_t num_entries) {
    const auto num_ranks = static_cast<std::size_t>(options.ranks);
    std::vector<entry_t> every_entry(static_cast<std::size_t>(num_entries));
    std::iota(every_entry.begin(), every_entry.end(), entry_t{0});
    std::vector<count_t> sizes(num_ranks);
    sizes.front() = num_entries;
    study_case result{{{"workload", "overload_one"}, {"entries", num_entries}},
                      block_partition::from_sizes(sizes),
                      {},
                      {"write", "read"}};
    for (const auto kind : {array::request_traits::minimum, array::request_traits::read})
        result.batches.push_back({kind, std::vector<std::vector<entry_t>>(num_ranks, every_entry)});
    return result;
}

json cost_json(const std::string& name, const batch_cost& cost) {
    json shares{{"copying", cost.shares.copying}, {"idle", cost.shares.idle}};
    for (std::size_t level = 0; level < num_locality_levels; ++level)
        shares[locality_level_names[level]] = cost.shares.by_level[level];
    double sum = 0;
    for (const auto& share : shares) sum += share.get<double>();
    for (auto& share : shares) share = sum > 0 ? share.get<double>() / sum : 0.0;
    return {{"name", name},
            {"simulated_seconds", cost.seconds},
            {"sorting_seconds", cost.sorting_seconds},
            {"messages_most", cost.messages_most},
            {"messages", cost.messages},
            {"items", cost.items},
            {"received_most", cost.received_most},
            {"arrived_most", cost.arrived_most},
            {"share_of_time", shares}};
}

template <class Cost>
json contender(const std::string& name, const study_case& one, const Cost& cost_of) {
    batch_cost sum;
    json seconds_of;
    for (std::size_t b = 0; b < one.batches.size(); ++b) {
        const batch_cost cost = cost_of(one.batches[b]);
        if (!one.phases.empty()) seconds_of[one.phases[b]] = cost.seconds;
        sum += cost;
    }
    fmt::print(stderr, "  {:24} {:12.6f} ms, a rank sends {:8} messages and gets {:9} requests\n",
               name, sum.seconds * 1e3, sum.messages_most, sum.received_most);
    json result = cost_json(name, sum);
    if (!one.phases.empty()) result["seconds_of"] = std::move(seconds_of);
    return result;
}

json run_case(const study_options& options, const rank_layout& layout, const study_case& one) {
    fmt::print(stderr, "{}\n", one.about.dump());
    auto m = load_machine(options.machine);
    if (!options.searches) m.matching_seconds = 0;
    const studies::batch_timer timer(
        layout, one.owners, m,
        options.is_collective ? studies::stage_way::collectives : studies::stage_way::messages,
        options.compares ? studies::sorting_way::comparisons : studies::sorting_way::radix);
    json all = json::array();
    if (!options.leaves_out_plain) {
        all.push_back(
            contender("plain", one, [&](const batch& requests) { return timer.plain(requests); }));
    }
    const auto add_route = [&](const std::string& name, const char* suffix, bool combines) {
        if (name == "none") return;
        const auto r = make_route(name, layout.regions());
        all.push_back(contender(name + suffix, one, [&](const batch& requests) {
            return timer.routed(*r, requests, combines);
        }));
    };
    for (const auto& name : options.routes) add_route(name, "", true);
    for (const auto& name : options.uncombined) add_route(name, "/none", false);
    json result = one.about;
    result["batches"] = one.batches.size();
    result["contenders"] = std::move(all);
    return result;
}

json run(const study_options& options) {
    std::vector<region_t> nodes;
    for (rank_t rank = 0; rank < options.ranks; ++rank) nodes.push_back(rank / options.per_node);
    const rank_layout layout(topology::from_regions(nodes));
    json cases = json::array();
    for (const auto& workload : options.workloads) {
        if (workload.starts_with("overload")) {
            const auto make = workload == "overload" ? overload_case : overload_one_case;
            for (const count_t entries : options.entries)
                cases.push_back(run_case(options, layout, make(options, entries)));
        } else {
            for (const auto& graph : options.graphs) {
                cases.push_back(run_case(options, layout,
                                         workload == "pointers" ? pointers_case(options, graph)
                                         : workload == "neighbors"
                                             ? neighbors_case(options, graph)
                                             : case_on_graph(options, workload, graph)));
            }
        }
    }
    return {{"ranks", options.ranks},
            {"topology", layout.regions().to_string()},
            {"machine", options.machine},
            {"searches", options.searches},
            {"edges_per_rank", options.edges_per_rank},
            {"requests_per_rank", options.requests_per_rank},
            {"stages", options.is_collective ? "collectives" : "messages"},
            {"sorting", options.compares ? "comparisons" : "radix"},
            {"cases", cases}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Simulates batches of a distributed array on all routes");
    study_options options;
    app.add_option("--ranks", options.ranks)->capture_default_str();
    app.add_option("--per-node", options.per_node, "Ranks of a node")->capture_default_str();
    app.add_option("--machine", options.machine, "Preset or file")->capture_default_str();
    app.add_option("--workloads", options.workloads,
                   "boruvka, neighborhood, overload, overload_one; pointers and neighbors: the "
                   "first two as in the study, where vertices hold their own edges")
        ->delimiter(',');
    app.add_option("--graphs", options.graphs, "rmat_unscrambled, rmat, rgg, gnm")->delimiter(',');
    app.add_option("--edges-per-rank", options.edges_per_rank)->capture_default_str();
    app.add_option("--entries", options.entries, "Of overload")->delimiter(',');
    app.add_option("--requests-per-rank", options.requests_per_rank, "Of overload")
        ->capture_default_str();
    app.add_option("--routes", options.routes, "or none")->delimiter(',');
    app.add_flag("--no-plain", options.leaves_out_plain);
    app.add_flag("--search", options.searches,
                 "MPI_Alltoallv looks at every receive that was posted before and waits");
    app.add_option("--uncombined", options.uncombined,
                   "Routes that are tried without combining, too; or none")
        ->delimiter(',');
    app.add_flag("--collective-stages", options.is_collective,
                 "Of routes, as in the study: MPI_Alltoall of counts and MPI_Alltoallv");
    app.add_flag("--comparisons", options.compares,
                 "Of a rank's own requests, as in the study: m are sorted in lg m passes");
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}
