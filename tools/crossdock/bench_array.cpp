#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/array/contest.hpp"
#include "bench/array/distribute.hpp"
#include "bench/common/all_ranks.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/array_workload.hpp"
#include "tools/crossdock/bench.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/table.hpp"

namespace crossdock::tool {

namespace {

using bench::array::entrant;
using bench::array::standing;

const std::vector<std::string> baseline_names{"plain", "rma", "petsc_sf"};

struct array_bench_options {
    bench::array::workload_options workload;
    std::string topology_text;
    std::vector<std::string> baselines = baseline_names;
    std::vector<std::string> routes{"auto"};
    combining_choice combine;
    bench::array::contest_options contest;
    bool as_json = false;
};

// What a contest is about, as all ranks together see it.
struct array_record {
    const array_bench_options& options;
    const topology& regions;
    count_t num_entries;
    count_t num_edges;
    std::string petsc_obstacle;
    bench::array::result found;
};

// Why PetscSF is asked for and does not take part; empty if it does, or is not asked for.
std::string petsc_obstacle(const array_bench_options& options) {
    const auto& names = options.baselines;
    const bool is_asked = std::find(names.begin(), names.end(), "petsc_sf") != names.end();
    return is_asked ? bench::array::petsc_obstacle(options.workload.workload) : "";
}

void enter_baseline(std::vector<entrant>& all, const std::string& name, const communicator& comm,
                    const topology& regions, const array_bench_options& options) {
    if (name == "plain") all.push_back(bench::array::plain(comm, regions));
    if (name == "rma") all.push_back(bench::array::rma(comm, regions));
    if (name == "petsc_sf" && petsc_obstacle(options).empty())
        all.push_back(bench::array::petsc_forest(comm));
}

// The first one is what the others are compared with.
std::vector<entrant> entrants(const communicator& comm, const topology& regions,
                              const array_bench_options& options, count_t expected_requests) {
    std::vector<entrant> all;
    for (const auto& name : options.baselines) enter_baseline(all, name, comm, regions, options);
    for (const auto& [name, route, combine] :
         expand_choices(options.routes, options.combine, regions, expected_requests)) {
        all.push_back(bench::array::crossdock_route(comm, regions, name, route, combine));
    }
    return all;
}

template <class Text>
json or_null(const std::optional<Text>& text) {
    return text ? json(*text) : json(nullptr);
}

json phases_json(const std::optional<bench::array::phase_medians>& phases) {
    if (!phases) return nullptr;
    json text;
    for (std::size_t phase = 0; phase < phases->size(); ++phase)
        text[bench::array::phase_names[phase]] = (*phases)[phase];
    return text;
}

json contender_json(const standing& one) {
    return {{"name", one.who.name},
            {"route", or_null(one.who.route)},
            {"combine", or_null(one.who.combine)},
            {"verified", one.found.is_verified},
            {"seconds", timing_json(one.seconds)},
            {"phase_seconds", phases_json(one.phases)},
            {"counts", one.found.counts ? counts_json(*one.found.counts) : json(nullptr)}};
}

void print_json(const array_record& record) {
    const auto& options = record.options;
    json document{{"schema", "crossdock.bench.array/1"},
                  {"version", CROSSDOCK_VERSION},
                  {"mpi", mpi_version()},
                  {"ranks", record.regions.num_ranks()},
                  {"topology", record.regions.to_string()}};
    document.update(workload_json(options.workload, record.num_entries, record.num_edges));
    document["where"] = options.combine.where;
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["batches"] = json::array();
    for (const auto& [kind, requests] : record.found.batches)
        document["batches"].push_back({{"kind", to_string(kind)}, {"requests", requests}});
    document["contenders"] = json::array();
    for (const auto& one : record.found.standings)
        document["contenders"].push_back(contender_json(one));
    document["left_out"] = json::array();
    if (!record.petsc_obstacle.empty())
        document["left_out"].push_back({{"name", "petsc_sf"}, {"reason", record.petsc_obstacle}});
    print(document);
}

std::string label(const entrant& who) {
    return who.route ? contender_label(who.name, *who.route, *who.combine) : who.name;
}

table::row cells_of(const standing& one, double reference_seconds) {
    const auto& seconds = one.seconds;
    table::row cells{label(one.who),
                     one.found.is_verified ? "yes" : "NO",
                     microseconds(seconds.min),
                     microseconds(seconds.lower_quartile),
                     microseconds(seconds.median),
                     microseconds(seconds.max),
                     fmt::format("{:.2f}", seconds.median / reference_seconds)};
    for (std::size_t phase = 0; phase < bench::array::phase_names.size(); ++phase)
        cells.push_back(one.phases ? microseconds((*one.phases)[phase]) : "-");
    traffic sent;
    summary arrived;
    if (one.found.counts) {
        arrived = one.found.counts->arrived;
        for (const auto& stage : one.found.counts->stages)
            sent += {stage.sent.messages.total, stage.sent.items.total, 0, 0};
    }
    for (const count_t number : {sent.messages, sent.items, arrived.total, arrived.max})
        cells.push_back(one.found.counts ? fmt::to_string(number) : "-");
    return cells;
}

void print_table(const array_record& record) {
    const auto& options = record.options;
    const auto& standings = record.found.standings;
    print("{}: {} ranks, topology {}, combined {}, {} iterations, {}\n",
          workload_text(options.workload), record.regions.num_ranks(), record.regions.to_string(),
          options.combine.where, options.contest.iterations, mpi_version());
    for (const auto& [kind, requests] : record.found.batches)
        print("  {} {} requests\n", to_string(kind), requests);
    print(
        "microseconds of the slowest rank for all batches; ratio: median to {}'s; phases: medians; "
        "arrived: requests at their owners, and at the busiest\n\n",
        standings.front().who.name);
    table lines({"contender", "verified", "min", "quartile", "median", "max", "ratio", "local",
                 "on the way", "write", "read", "split", "communicate", "messages", "items",
                 "arrived", "busiest"});
    for (const auto& one : standings) lines.add(cells_of(one, standings.front().seconds.median));
    print("{}", lines.to_string());
    if (!record.petsc_obstacle.empty()) print("\nwithout petsc_sf: {}\n", record.petsc_obstacle);
}

int run(const array_bench_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions = topology_of(comm, options.topology_text);
        on_all_or_none(comm, [&] { expand_choices(options.routes, options.combine, regions, 0); });
        const auto work = bench::array::distribute(comm, options.workload);
        const count_t num_edges =
            bench::sum_over_ranks(comm, {static_cast<count_t>(work.edges.size())})[0];
        const auto all = entrants(comm, regions, options, num_edges / comm.num_ranks());
        const array_record record{options,
                                  regions,
                                  work.owners.num_entries(),
                                  num_edges,
                                  petsc_obstacle(options),
                                  contest(comm, work, all, options.contest)};
        if (comm.rank() == 0) (options.as_json ? print_json : print_table)(record);
        return exit_code(record.found.standings);
    });
}

}  // namespace

void add_bench_array(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<array_bench_options>();
    auto* array = verb.add_subcommand(
        "array",
        "Reads and updates of a distributed array: MPI_Alltoallv, MPI's one-sided calls, PetscSF, "
        "every route and combining strategy. Each is checked, then all are timed in turn");
    array->footer(
        "Timed are the batches that the workload's program asks for, one after the other, without "
        "the program's own work. Counts are those of requests on their way to the owners; where "
        "they read, as many messages and items come back.");
    add_workload(*array, options->workload);
    array->add_option("--topology", options->topology_text,
                      "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: by node");
    array
        ->add_option("--baselines", options->baselines,
                     "What the library is compared with, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(baseline_names))
        ->capture_default_str();
    array->add_option("--routes", options->routes, routes_help() + "; auto: the library's choice")
        ->delimiter(',');
    add_combining(*array, options->combine);
    auto& contest = options->contest;
    add_count(*array, "--iterations", contest.iterations, "Timed runs of every contender", 1);
    add_count(*array, "--warm-ups", contest.warm_ups, "Runs before that", 0);
    array->add_flag("--json", options->as_json, "Print JSON");
    array->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
