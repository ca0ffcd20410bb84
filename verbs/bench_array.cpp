#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/array/contest.hpp"
#include "bench/array/distribute.hpp"
#include "bench/common/all_ranks.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench_array.hpp"

namespace crossdock::tool {

namespace {

using bench::array::entrant;
using bench::array::standing;

// Why PetscSF is asked for and does not take part; empty if it does, or is not asked for.
std::string petsc_obstacle(const array_bench_options& options) {
    const auto& names = options.baselines;
    const bool is_asked = std::find(names.begin(), names.end(), "petsc_sf") != names.end();
    return is_asked ? bench::array::petsc_obstacle() : "";
}

void enter_baseline(std::vector<entrant>& all, const std::string& name, const communicator& comm,
                    const topology& regions, const array_bench_options& options) {
    if (name == "plain") all.push_back(bench::array::plain(comm, regions));
    if (name == "rma") all.push_back(bench::array::rma(comm, regions));
    if (name == "petsc_sf" && petsc_obstacle(options).empty())
        all.push_back(bench::array::petsc_forest(comm));
}

std::vector<entrant> entrants(const communicator& comm, const array_task& task) {
    std::vector<entrant> all;
    for (const auto& name : task.options.baselines)
        enter_baseline(all, name, comm, task.regions, task.options);
    for (const auto& [name, route, combine] : task.choices)
        all.push_back(bench::array::crossdock_route(comm, task.regions, name, route, combine));
    return all;
}

json phases_json(const std::optional<bench::array::phase_medians>& phases) {
    if (!phases) return nullptr;
    json text;
    for (std::size_t phase = 0; phase < phases->size(); ++phase)
        text[bench::array::phase_names[phase]] = (*phases)[phase];
    return text;
}

reference_time reference_of(const std::vector<standing>& standings) {
    return fastest_of_mpi(standings, &standing::seconds, label_of<standing>);
}

json contender_json(const standing& one, const reference_time& reference) {
    return {{"name", one.who.name},
            {"route", or_null(one.who.route)},
            {"combine", or_null(one.who.combine)},
            {"verified", one.found.is_verified},
            {"seconds", timing_json(one.seconds)},
            {"ratio", reference.compare(one.seconds).to_json()},
            {"phase_seconds", phases_json(one.phases)},
            {"counts", one.found.counts ? counts_json(*one.found.counts) : json(nullptr)}};
}

void print_json(const array_task& task, const bench::array::result& found) {
    json document = array_record_head("crossdock.bench.array/1", task);
    document["batches"] = json::array();
    for (const auto& [kind, requests] : found.batches)
        document["batches"].push_back({{"kind", to_string(kind)}, {"requests", requests}});
    document["contenders"] = json::array();
    const auto reference = reference_of(found.standings);
    for (const auto& one : found.standings)
        document["contenders"].push_back(contender_json(one, reference));
    document["left_out"] = left_out_json(petsc_obstacle(task.options));
    print(document);
}

table::row cells_of(const standing& one, const reference_time& reference) {
    const auto& seconds = one.seconds;
    table::row cells{label_of(one),
                     one.found.is_verified ? "yes" : "NO",
                     microseconds(seconds.min),
                     microseconds(seconds.lower_quartile),
                     microseconds(seconds.median),
                     microseconds(seconds.max),
                     reference.ratio(seconds.median)};
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

void print_table(const array_task& task, const bench::array::result& found) {
    const auto& options = task.options;
    const auto& standings = found.standings;
    print("{}: {} ranks, topology {}, combined {}, {} iterations, {}\n",
          workload_text(options.workload), task.regions.num_ranks(), task.regions.to_string(),
          options.combine.where, options.contest.iterations, mpi_version());
    for (const auto& [kind, requests] : found.batches)
        print("  {} {} requests\n", to_string(kind), requests);
    const auto reference = reference_of(standings);
    print(
        "microseconds of the slowest rank for all batches; {}; phases: medians; arrived: requests "
        "at owners in the last stage, and at the busiest\n\n",
        reference.legend());
    table lines({"contender", "verified", "min", "quartile", "median", "max", "ratio", "local",
                 "on the way", "write", "read", "split", "communicate", "messages", "items",
                 "arrived", "busiest"});
    for (const auto& one : standings) lines.add(cells_of(one, reference));
    print("{}", lines.to_string());
    const auto obstacle = petsc_obstacle(options);
    if (!obstacle.empty()) print("\nwithout petsc_sf: {}\n", obstacle);
}

int bench_batches(const communicator& comm, const array_task& task) {
    const auto found = contest(comm, task.work, entrants(comm, task), task.options.contest);
    if (comm.rank() == 0) task.options.as_json ? print_json(task, found) : print_table(task, found);
    return exit_code(found.standings);
}

int run(const array_bench_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions = topology_of(comm, options.topology_text);
        auto choices = on_all_or_none(
            comm, [&] { return expand_choices(options.routes, options.combine, regions); });
        auto work = bench::array::distribute(comm, options.workload);
        const count_t num_edges =
            bench::sum_over_ranks(comm, {static_cast<count_t>(work.edges.size())})[0];
        const array_task task{options, regions, std::move(work), num_edges, std::move(choices)};
        return options.is_prepared ? bench_prepared(comm, task) : bench_batches(comm, task);
    });
}

// What is prepared is read again and again: that is no round of Borůvka's.
void choose_prepared_workload(array_bench_options& options, const CLI::Option& workload) {
    if (workload.count() == 0) options.workload.workload = "neighborhood";
    if (options.workload.workload == "boruvka")
        throw CLI::ValidationError(
            "--prepared",
            "works with neighborhood and overload only: boruvka never repeats a read");
}

}  // namespace

json array_record_head(const std::string& schema, const array_task& task) {
    json document{{"schema", schema},
                  {"version", CROSSDOCK_VERSION},
                  {"mpi", mpi_version()},
                  {"ranks", task.regions.num_ranks()},
                  {"topology", task.regions.to_string()}};
    document.update(
        workload_json(task.options.workload, task.work.owners.num_entries(), task.num_edges));
    document["where"] = task.options.combine.where;
    document["warm_ups"] = task.options.contest.warm_ups;
    document["iterations"] = task.options.contest.iterations;
    return document;
}

json left_out_json(const std::string& petsc_obstacle) {
    if (petsc_obstacle.empty()) return json::array();
    return json::array({{{"name", "petsc_sf"}, {"reason", petsc_obstacle}}});
}

json or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(nullptr); }

void add_bench_array(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<array_bench_options>();
    auto* array =
        verb.add_subcommand("array",
                            "Time reads and updates of a distributed array by every route and "
                            "combining strategy, MPI_Alltoallv, MPI's one-sided calls, and "
                            "PetscSF. Each is checked, then all are timed in turn");
    array->footer(
        "Times are those of the workload's batches, one after the other, without the program's own "
        "work. Counts are those of requests on their way to the owners; a read sends as many "
        "messages and items back.");
    auto* workload = add_workload(*array, options->workload).front();
    array->add_option("--topology", options->topology_text,
                      "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: the nodes");
    auto* baselines = array
                          ->add_option("--baselines", options->baselines,
                                       "What the library is compared with, separated by commas")
                          ->delimiter(',')
                          ->check(CLI::IsMember({"plain", "rma", "petsc_sf"}))
                          ->capture_default_str();
    array->add_option("--routes", options->routes, routes_help() + "; auto: the library's choice")
        ->delimiter(',');
    add_combining(*array, options->combine);
    auto& contest = options->contest;
    add_count(*array, "--iterations", contest.iterations, "Timed runs of every contender", 1);
    add_count(*array, "--warm-ups", contest.warm_ups, "Runs before the timed ones", 0);
    add_count(*array, "--set-ups", contest.setups, "Timed set-ups of every prepared contender", 1);
    array
        ->add_flag("--prepared", options->is_prepared,
                   "Prepare the reads of neighborhood or overload once, and time each read, by "
                   "every route and by PetscSF's broadcast")
        ->excludes(baselines);
    array->add_flag("--json", options->as_json, "Print JSON");
    array->callback([options, workload, &chosen] {
        if (options->is_prepared) choose_prepared_workload(*options, *workload);
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
