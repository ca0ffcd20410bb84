#include "tools/crossdock/array_workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/route_names.hpp"

namespace crossdock::tool {

namespace {

using bench::array::workload_options;

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const auto& one : bench::array::registered_workloads()) names.push_back(one.name);
    return names;
}

std::string workloads_help() {
    std::string text;
    for (const auto& one : bench::array::registered_workloads())
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", one.name, one.summary);
    return text;
}

std::vector<std::string> strategy_names() {
    std::vector<std::string> names;
    for (const auto& one : registered_combining()) names.push_back(one.name);
    return names;
}

// What --where says, with a strategy by its name.
combining_options make_combining(const std::string& strategy, const combining_choice& choice) {
    return {strategy == "auto" ? combining_options().strategy : parse_combining(strategy),
            choice.where != "on_the_way", choice.where != "locally"};
}

CLI::Option* add_number(CLI::App& verb, const std::string& name, count_t& value,
                        const std::string& help) {
    return verb.add_option(name, value, help)
        ->check(in_range(count_t{1}, count_t{1} << 30))
        ->capture_default_str();
}

}  // namespace

std::vector<std::string> expand_strategies(const std::vector<std::string>& names) {
    std::vector<std::string> expanded;
    for (const auto& name : names) {
        if (name == "all") {
            const auto all = strategy_names();
            expanded.insert(expanded.end(), all.begin(), all.end());
        } else {
            expanded.push_back(name);
        }
    }
    return expanded;
}

std::vector<CLI::Option*> add_workload(CLI::App& verb, workload_options& options) {
    auto& graph = options.graph;
    return {
        verb.add_option("--workload", options.workload, workloads_help())
            ->check(CLI::IsMember(workload_names()))
            ->capture_default_str(),
        verb.add_option("--graph", graph.graph,
                        "rmat | rgg | gnm, or a Matrix Market file, whose entries are edges")
            ->capture_default_str(),
        add_number(verb, "--vertices-per-rank", graph.vertices_per_rank,
                   "Vertices of the graph per rank"),
        add_number(verb, "--edges-per-rank", graph.edges_per_rank, "Edges of the graph per rank"),
        verb.add_option("--seed", graph.seed, "Seed of the random numbers")
            ->check(in_range(count_t{0}, std::numeric_limits<count_t>::max()))
            ->capture_default_str(),
        add_number(verb, "--entries", options.entries, "overload: entries of the array"),
        add_number(verb, "--requests-per-rank", options.requests_per_rank,
                   "overload: requests of a rank, rounded down to a multiple of the entries")};
}

std::vector<CLI::Option*> add_combining(CLI::App& verb, combining_choice& choice) {
    return {verb.add_option("--combine", choice.strategies,
                            fmt::format("Combining strategies, separated by commas; auto = {}; "
                                        "all = {}",
                                        to_string(combining_options().strategy),
                                        fmt::join(strategy_names(), ",")))
                ->delimiter(','),
            verb.add_option("--where", choice.where,
                            "Which requests are combined. locally: those of one rank; on_the_way: "
                            "those of several ranks that meet at a rank; everywhere: both")
                ->check(CLI::IsMember({"everywhere", "locally", "on_the_way"}))
                ->capture_default_str()};
}

std::vector<array_choice> expand_choices(const std::vector<std::string>& routes,
                                         const combining_choice& choice, const topology& regions) {
    std::vector<array_choice> all;
    for (const auto& name : expand_routes(routes)) {
        if (name != "auto") static_cast<void>(make_route(name, regions));
        for (const auto& strategy : expand_strategies(choice.strategies))
            all.push_back({name + "/" + strategy, name, make_combining(strategy, choice)});
    }
    return all;
}

json workload_json(const workload_options& options, count_t num_entries, count_t num_edges) {
    const auto& graph = options.graph;
    json text{{"workload", options.workload}};
    if (!bench::array::find_workload(options.workload).has_graph) {
        text["entries"] = num_entries;
    } else {
        text["graph"] = graph.graph;
        text["vertices"] = num_entries;
        text["edges"] = num_edges;
        if (bench::array::is_file(graph)) return text;
    }
    text["seed"] = graph.seed;
    return text;
}

std::string contender_label(const std::string& name, const std::string& route,
                            const std::string& strategy) {
    const std::string full = route + "/" + strategy;
    return full == name ? name : name + " = " + full;
}

std::string workload_text(const workload_options& options) {
    if (bench::array::find_workload(options.workload).has_graph)
        return options.workload + " on " + options.graph.graph;
    return fmt::format("{} of {} entries", options.workload, options.entries);
}

json counts_json(const bench::array::workload_counts& counts) {
    json stages = json::array();
    for (const auto& stage : counts.stages) {
        stages.push_back(traffic_json(stage.sent));
        stages.back()["empty_messages"] = summary_json(stage.empty_messages);
        stages.back()["received"] = summary_json(stage.received);
        stages.back()["combined"] = summary_json(stage.combined);
    }
    return {{"requests", summary_json(counts.requests)},
            {"combined_locally", summary_json(counts.combined_locally)},
            {"combined_on_the_way", summary_json(counts.combined_on_the_way)},
            {"received", summary_json(counts.received)},
            {"arrived", summary_json(counts.arrived)},
            {"stages", std::move(stages)}};
}

}  // namespace crossdock::tool
