#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "bench/hypre/level_contest.hpp"
#include "src/neighbor/automatic_route.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

namespace {

using bench::level_standing;
using bench::level_standings;
using bench::timing;

struct hypre_options {
    bench_input input;
    std::vector<std::string> routes{"direct", "two_step", "three_step", "auto"};
    std::string executor = automatic_executor;
    bench::level_contest_options contest;
    bool as_json = false;
};

bench::entrant neighborhood_collective() {
    for (auto& one : bench::neighborhood_collectives())
        if (one.name == "mpi_neighbor_alltoallv_init") return one;
    throw error(errc::internal, "there is no persistent neighborhood collective");
}

std::vector<bench::entrant> others_than_hypre(const hypre_options& options) {
    std::vector<bench::entrant> others;
    if (auto collective = neighborhood_collective(); collective.obstacle.empty())
        others.push_back(std::move(collective));
    crossdock::neighbor_options how;
    how.executor = options.executor;
    for (const auto& route : expand_routes(options.routes))
        others.push_back(bench::crossdock_route(route, how));
    return others;
}

json counts_json(const bench::sent_counts& sent) {
    return {{"messages_between", sent.messages_between},
            {"values_between", sent.values_between},
            {"messages_inside", sent.messages_inside},
            {"values_inside", sent.values_inside}};
}

// All levels of a round, one after the other.
std::vector<double> rounds_of_levels(const std::vector<level_standings>& levels,
                                     std::size_t contender) {
    std::vector<double> rounds(levels.front().standings[contender].exchange_seconds.rounds.size());
    for (const auto& level : levels) {
        const auto& of_level = level.standings[contender].exchange_seconds.rounds;
        std::ranges::transform(rounds, of_level, rounds.begin(), std::plus<>());
    }
    return rounds;
}

// Of each contender, all levels to those of hypre.
json ratios_json(const std::vector<level_standings>& levels) {
    const auto& standings = levels.front().standings;
    const auto by_hypre = rounds_of_levels(levels, 0);
    json ratios = json::object();
    for (std::size_t c = 0; c < standings.size(); ++c)
        ratios[standings[c].name] = compare_rounds(rounds_of_levels(levels, c), by_hypre).to_json();
    return ratios;
}

void print_hypre_json(const hypre_options& options, const topology& regions,
                      const std::vector<level_standings>& levels) {
    json document = record_head("crossdock.bench.hypre/1", options.input, regions);
    document["executor"] = options.executor;
    document["runs"] = options.contest.runs;
    document["iterations"] = options.contest.iterations;
    document["setups"] = options.contest.setups;
    document["levels"] = json::array();
    for (const auto& [num_rows, num_entries, standings] : levels) {
        json contenders = json::array();
        const auto& by_hypre = standings.front().exchange_seconds.rounds;
        for (const auto& one : standings) {
            const auto ratio = compare_rounds(one.exchange_seconds.rounds, by_hypre);
            contenders.push_back({{"name", one.name},
                                  {"route", one.route.empty() ? json(nullptr) : json(one.route)},
                                  {"verified", one.is_verified},
                                  {"most", counts_json(one.most)},
                                  {"all", counts_json(one.all)},
                                  {"setup_seconds", timing_json(one.setup_seconds)},
                                  {"exchange_seconds", timing_json(one.exchange_seconds)},
                                  {"ratio", ratio.to_json()}});
        }
        document["levels"].push_back({{"level", document["levels"].size()},
                                      {"rows", num_rows},
                                      {"entries", num_entries},
                                      {"contenders", contenders}});
    }
    document["ratios"] = ratios_json(levels);
    document["left_out"] = json::array();
    if (const auto left_out = neighborhood_collective(); !left_out.obstacle.empty())
        document["left_out"].push_back({{"name", left_out.name}, {"reason", left_out.obstacle}});
    print(document);
}

void print_level(std::size_t number, const level_standings& level) {
    print("level {}, {} rows, {} entries\n", number, level.num_rows, level.num_entries);
    table lines({"contender", "route", "verified", "min", "quartile", "median", "ratio", "set-up",
                 "between: messages", "most", "values", "most", "inside: messages", "most"});
    const double reference = level.standings.front().exchange_seconds.lower_quartile;
    for (const auto& one : level.standings) {
        const auto& seconds = one.exchange_seconds;
        lines.add({one.name, one.route.empty() ? "-" : one.route, one.is_verified ? "yes" : "NO",
                   microseconds(seconds.min), microseconds(seconds.lower_quartile),
                   microseconds(seconds.median),
                   fmt::format("{:.2f}", seconds.lower_quartile / reference),
                   microseconds(one.setup_seconds.median), fmt::to_string(one.all.messages_between),
                   fmt::to_string(one.most.messages_between),
                   fmt::to_string(one.all.values_between), fmt::to_string(one.most.values_between),
                   fmt::to_string(one.all.messages_inside),
                   fmt::to_string(one.most.messages_inside)});
    }
    print("{}\n", lines.to_string());
}

// Over all levels; on each of them by hypre's own exchange where that is cheaper, if it may be.
double sum_of_levels(const std::vector<level_standings>& levels, std::size_t contender,
                     double timing::*quantile, bool may_be_hypre) {
    double sum = 0;
    for (const auto& [num_rows, num_entries, standings] : levels) {
        const double own = standings[contender].exchange_seconds.*quantile;
        const double by_hypre = standings.front().exchange_seconds.*quantile;
        sum += may_be_hypre ? std::min(own, by_hypre) : own;
    }
    return sum;
}

void print_sums(const std::vector<level_standings>& levels) {
    print("all {} levels; cheaper: on each level the cheaper of hypre and the contender\n",
          levels.size());
    table lines({"contender", "min", "quartile", "median", "ratio", "cheaper: min", "quartile",
                 "median", "ratio"});
    const auto& names = levels.front().standings;
    for (std::size_t c = 0; c < names.size(); ++c) {
        table::row cells{names[c].name};
        for (const bool may_be_hypre : {false, true}) {
            for (const auto quantile : {&timing::min, &timing::lower_quartile, &timing::median})
                cells.push_back(microseconds(sum_of_levels(levels, c, quantile, may_be_hypre)));
            cells.push_back(fmt::format(
                "{:.2f}", sum_of_levels(levels, c, &timing::lower_quartile, may_be_hypre) /
                              sum_of_levels(levels, 0, &timing::lower_quartile, false)));
        }
        lines.add(cells);
    }
    print("{}", lines.to_string());
}

void print_hypre_tables(const hypre_options& options, const topology& regions,
                        const std::vector<level_standings>& levels) {
    print("{}: {} ranks, topology {}, executor {}, {} runs of {} exchanges, {}\n",
          options.input.file, regions.num_ranks(), regions.to_string(), options.executor,
          options.contest.runs, options.contest.iterations, mpi_version());
    print("{}\n\n",
          "microseconds of the slowest rank, an exchange in the mean of a run; ratio: lower "
          "quartile divided by hypre's; less than 1 is faster; between regions and inside; most: "
          "of any rank");
    for (std::size_t level = 0; level < levels.size(); ++level) print_level(level, levels[level]);
    print_sums(levels);
    if (const auto left_out = neighborhood_collective(); !left_out.obstacle.empty())
        print("\nwithout {}: {}\n", left_out.name, left_out.obstacle);
}

int run(const hypre_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions = topology_of(comm, options.input.topology_text);
        on_all_or_none(comm, [&] {
            for (const auto& route : expand_routes(options.routes))
                if (!is_automatic(route)) static_cast<void>(make_route(route, regions));
        });
        const auto levels = contest_levels(context(comm, regions), options.input.file,
                                           others_than_hypre(options), options.contest);
        if (comm.rank() == 0)
            (options.as_json ? print_hypre_json : print_hypre_tables)(options, regions, levels);
        bool is_right = true;
        for (const auto& level : levels)
            for (const auto& one : level.standings) is_right = is_right && one.is_verified;
        return is_right ? 0 : 1;
    });
}

}  // namespace

void add_bench_hypre(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<hypre_options>();
    auto* hypre = verb.add_subcommand(
        "hypre",
        "Time the exchanges on all levels of a hierarchy of hypre's BoomerAMG, by every route, by "
        "hypre, and by MPI's persistent neighborhood collective");
    hypre
        ->add_option("PROBLEM", options->input.file,
                     "rotated:NXxNY: diffusion at 45 degrees, anisotropy 0.001, 7 points; "
                     "7pt:NXxNYxNZ or 27pt:NXxNYxNZ: the Laplacian")
        ->required();
    hypre->add_option("--topology", options->input.topology_text,
                      "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: the nodes");
    hypre
        ->add_option("--routes", options->routes,
                     routes_help() + "; auto, auto:measure: chosen by the library, on each level")
        ->delimiter(',')
        ->capture_default_str();
    hypre->add_option("--executor", options->executor, "How plans run")
        ->check(CLI::IsMember({"auto", "persistent", "shared_memory"}))
        ->capture_default_str();
    auto& contest = options->contest;
    add_count(*hypre, "--runs", contest.runs, "Timed runs of every contender on every level", 1);
    add_count(*hypre, "--iterations", contest.iterations, "Exchanges of a run", 1);
    add_count(*hypre, "--set-ups", contest.setups, "Timed set-ups of every contender", 1);
    hypre->add_flag("--json", options->as_json, "Print JSON");
    hypre->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
