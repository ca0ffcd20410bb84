#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/gather/contest.hpp"
#include "bench/gather/ids.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

namespace {

using bench::gather::standing;

struct gather_bench_options {
    bench_input input;
    std::vector<std::string> ways{"direct",    "two_step", "three_step",
                                  "hypercube", "auto",     "auto:measure"};
    std::string executor = "auto";
    bench::gather::contest_options contest;
    bool as_json = false;
};

reference_time reference_of(const std::vector<standing>& standings) {
    return fastest_of(standings, &standing::combine_seconds, &standing::name,
                      &standing::is_baseline, "of gslib's methods");
}

void print_json(const gather_bench_options& options, const topology& regions,
                const std::vector<standing>& standings) {
    const auto reference = reference_of(standings);
    json document = record_head("crossdock.bench.gather/1", options.input, regions);
    document["executor"] = options.executor;
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["in_a_row"] = options.contest.in_a_row;
    document["setups"] = options.contest.setups;
    document["contenders"] = json::array();
    for (const auto& one : standings) {
        document["contenders"].push_back(
            {{"name", one.name},
             {"baseline", one.is_baseline},
             {"choice", one.choice.empty() ? json(nullptr) : json(one.choice)},
             {"verified", one.found.is_verified},
             {"setup_seconds", timing_json(one.setup_seconds)},
             {"combine_seconds", timing_json(one.combine_seconds)},
             {"ratio", reference.compare(one.combine_seconds).to_json()},
             {"messages", one.found.sent.messages},
             {"inter_region_messages", one.found.sent.inter_region_messages},
             {"items", one.found.sent.items},
             {"inter_region_items", one.found.sent.inter_region_items}});
    }
    print(document);
}

// "auto = owners/three_step": what is behind a name that does not say it.
std::string label(const standing& one) {
    return one.choice.empty() || one.choice == one.name ? one.name : one.name + " = " + one.choice;
}

void print_table(const gather_bench_options& options, const topology& regions,
                 const std::vector<standing>& standings) {
    print("{}: {} ranks, topology {}, {} iterations of {} in a row, {}\n", options.input.file,
          regions.num_ranks(), regions.to_string(), options.contest.iterations,
          options.contest.in_a_row, mpi_version());
    const auto reference = reference_of(standings);
    print("microseconds of the slowest rank; {}\n\n", reference.legend());
    table lines({"contender", "verified", "set-up", "min", "quartile", "median", "max", "ratio",
                 "messages", "inter-region", "items", "inter-region"});
    for (const auto& one : standings) {
        const auto& seconds = one.combine_seconds;
        const auto& sent = one.found.sent;
        lines.add({label(one), one.found.is_verified ? "yes" : "NO",
                   microseconds(one.setup_seconds.median), microseconds(seconds.min),
                   microseconds(seconds.lower_quartile), microseconds(seconds.median),
                   microseconds(seconds.max), reference.ratio(seconds.median),
                   fmt::to_string(sent.messages), fmt::to_string(sent.inter_region_messages),
                   fmt::to_string(sent.items), fmt::to_string(sent.inter_region_items)});
    }
    print("{}", lines.to_string());
}

int run(const gather_bench_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto& input = options.input;
        const auto regions = topology_of(comm, input.topology_text);
        const auto ids = bench::gather::make_ids(comm, input.file, input.partition, regions);
        auto entrants = bench::gather::baselines();
        for (const auto& way : options.ways)
            entrants.push_back(bench::gather::crossdock_way(way, options.executor));
        const auto standings =
            bench::gather::contest({comm, regions}, ids, entrants, options.contest);
        if (comm.rank() == 0)
            options.as_json ? print_json(options, regions, standings)
                            : print_table(options, regions, standings);
        return exit_code(standings);
    });
}

}  // namespace

void add_bench_gather(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<gather_bench_options>();
    auto* gather =
        verb.add_subcommand("gather",
                            "Time the gather-scatter, in which every copy of an id gets the sum of "
                            "all copies, by crossdock, by gslib's three methods, and by the one "
                            "that gslib would choose. Each is checked, then all are timed in turn");
    gather->footer(
        "Messages and items are those of all ranks together in one operation; MPI does not tell "
        "what it sends for all_reduce.");
    add_input(*gather, options->input,
              "every rank has K columns of every other. The ids of a rank are the columns in which "
              "its rows have entries. Or hex:N:K: the points of hexahedral elements of order N, "
              "with K x K x K elements on each rank");
    gather
        ->add_option("--ways", options->ways,
                     "Routes, auto or auto:measure; or methods and routes, such as owners/direct "
                     "and holders/auto")
        ->delimiter(',')
        ->capture_default_str();
    gather->add_option("--executor", options->executor, "How plans run, as in `bench neighbor`")
        ->capture_default_str();
    auto& contest = options->contest;
    add_count(*gather, "--iterations", contest.iterations, "Timed operations of every contender",
              1);
    add_count(*gather, "--in-a-row", contest.in_a_row,
              "Operations in a row in each iteration; its time is their mean", 1);
    add_count(*gather, "--warm-ups", contest.warm_ups, "Operations before the timed ones", 0);
    add_count(*gather, "--set-ups", contest.setups, "Timed set-ups of every contender", 1);
    gather->add_flag("--json", options->as_json, "Print JSON");
    gather->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
