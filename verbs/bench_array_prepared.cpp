#include <fmt/format.h>

#include "bench/array/prepared.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench_array.hpp"

namespace crossdock::tool {

namespace {

using bench::array::petsc_obstacle;
using bench::array::prepared_entrant;
using bench::array::prepared_standing;

std::vector<prepared_entrant> prepared_entrants(const communicator& comm, const array_task& task) {
    std::vector<prepared_entrant> all;
    if (petsc_obstacle().empty()) {
        for (const char* type : {"basic", "neighbor"})
            all.push_back(bench::array::prepared_petsc(comm, type));
    }
    for (const auto& [name, route, combine] : task.choices)
        all.push_back(bench::array::prepared_route(comm, task.regions, name, route, combine));
    return all;
}

json sent_json(const std::optional<traffic>& sent) {
    if (!sent) return nullptr;
    return {{"messages", sent->messages},
            {"items", sent->items},
            {"inter_region_messages", sent->inter_region_messages},
            {"inter_region_items", sent->inter_region_items}};
}

reference_time reference_of(const std::vector<prepared_standing>& standings) {
    return fastest_of_mpi(standings, &prepared_standing::read_seconds, label_of<prepared_standing>);
}

void print_json(const array_task& task, const std::vector<prepared_standing>& standings) {
    const auto reference = reference_of(standings);
    json document = array_record_head("crossdock.bench.array.prepared/1", task);
    document["setups"] = task.options.contest.setups;
    document["contenders"] = json::array();
    for (const auto& one : standings) {
        document["contenders"].push_back({{"name", one.who.name},
                                          {"route", or_null(one.who.route)},
                                          {"combine", or_null(one.who.combine)},
                                          {"verified", one.found.is_verified},
                                          {"setup_seconds", timing_json(one.setup_seconds)},
                                          {"read_seconds", timing_json(one.read_seconds)},
                                          {"ratio", reference.compare(one.read_seconds).to_json()},
                                          {"sent", sent_json(one.found.sent)}});
    }
    document["left_out"] = left_out_json(petsc_obstacle());
    print(document);
}

table::row cells_of(const prepared_standing& one, const reference_time& reference) {
    const auto& [who, found, setup, read] = one;
    table::row cells{label_of(one),
                     found.is_verified ? "yes" : "NO",
                     microseconds(read.min),
                     microseconds(read.lower_quartile),
                     microseconds(read.median),
                     microseconds(read.max),
                     reference.ratio(read.median),
                     microseconds(setup.median),
                     fmt::format("{:.1f}", setup.median / read.median)};
    const auto sent = found.sent.value_or(traffic{});
    for (const count_t number :
         {sent.messages, sent.inter_region_messages, sent.items, sent.inter_region_items}) {
        cells.push_back(found.sent ? fmt::to_string(number) : "-");
    }
    return cells;
}

void print_table(const array_task& task, const std::vector<prepared_standing>& standings) {
    const auto& options = task.options;
    print("prepared reads, {}: {} ranks, topology {}, combined {}, {} iterations, {}\n",
          workload_text(options.workload), task.regions.num_ranks(), task.regions.to_string(),
          options.combine.where, options.contest.iterations, mpi_version());
    const auto reference = reference_of(standings);
    print("microseconds of the slowest rank; {}; set-up: median, with the first read\n\n",
          reference.legend());
    table lines({"contender", "verified", "min", "quartile", "median", "max", "ratio", "set-up",
                 "in reads", "messages", "inter-region", "items", "inter-region"});
    for (const auto& one : standings) lines.add(cells_of(one, reference));
    print("{}", lines.to_string());
    if (!petsc_obstacle().empty()) print("\nwithout petsc_sf: {}\n", petsc_obstacle());
}

}  // namespace

int bench_prepared(const communicator& comm, const array_task& task) {
    const auto standings =
        contest_prepared(comm, task.work, prepared_entrants(comm, task), task.options.contest);
    if (comm.rank() == 0)
        task.options.as_json ? print_json(task, standings) : print_table(task, standings);
    return exit_code(standings);
}

}  // namespace crossdock::tool
