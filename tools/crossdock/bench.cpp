#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/neighbor/contest.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

constexpr int wrong_result = 1;

struct bench_options {
    std::string file;
    std::string topology_text;
    std::string partition = "block";
    std::vector<std::string> routes{"all"};
    bench::contest_options contest;
    bool as_json = false;
};

// The first one is what the others are compared with.
std::vector<bench::entrant> entrants(const std::vector<std::string>& routes) {
    std::vector<bench::entrant> all{bench::mpi_persistent(), bench::mpi_neighbor_alltoallv()};
    for (const auto& route : routes) {
        for (const bool deduplicate : {false, true})
            all.push_back(bench::crossdock_route(route, deduplicate));
    }
    return all;
}

json timing_json(const bench::timing& seconds) {
    return {{"min", seconds.min},
            {"lower_quartile", seconds.lower_quartile},
            {"median", seconds.median},
            {"max", seconds.max}};
}

void print_json(const bench_options& options, const topology& regions,
                const std::vector<bench::standing>& standings) {
    json contenders = json::array();
    for (const auto& one : standings) {
        contenders.push_back({{"name", one.name},
                              {"dedup", one.is_deduplicated},
                              {"verified", one.found.is_verified},
                              {"setup_seconds", timing_json(one.setup_seconds)},
                              {"exchange_seconds", timing_json(one.exchange_seconds)},
                              {"messages", one.found.sent.messages},
                              {"inter_region_messages", one.found.sent.inter_region_messages},
                              {"items", one.found.sent.items},
                              {"inter_region_items", one.found.sent.inter_region_items}});
    }
    const json document{{"schema", "crossdock.bench.neighbor/1"},
                        {"version", CROSSDOCK_VERSION},
                        {"mpi", mpi_version()},
                        {"ranks", regions.num_ranks()},
                        {"topology", regions.to_string()},
                        {"file", options.file},
                        {"partition", options.partition},
                        {"item_bytes", options.contest.item_bytes},
                        {"warm_ups", options.contest.warm_ups},
                        {"iterations", options.contest.iterations},
                        {"setups", options.contest.setups},
                        {"contenders", std::move(contenders)}};
    print(document);
}

void print_table(const bench_options& options, const topology& regions,
                 const std::vector<bench::standing>& standings) {
    print("{}: {} ranks, topology {}, {} bytes per item, {} iterations, {}\n", options.file,
          regions.num_ranks(), regions.to_string(), options.contest.item_bytes,
          options.contest.iterations, mpi_version());
    print(
        "microseconds of the slowest rank; ratio: median to {}'s; set-up: median, with the first "
        "exchange\n\n",
        standings.front().name);
    const double reference_seconds = standings.front().exchange_seconds.median;
    table lines({"contender", "dedup", "verified", "min", "median", "max", "ratio", "set-up",
                 "in exchanges", "messages", "inter-region", "items", "inter-region"});
    for (const auto& [name, is_deduplicated, found, setup, exchange] : standings) {
        const auto& [is_verified, sent] = found;
        const auto microseconds = [](double seconds) {
            return fmt::format("{:.1f}", seconds * 1e6);
        };
        lines.add(
            {name, is_deduplicated ? "yes" : "no", is_verified ? "yes" : "NO",
             microseconds(exchange.min), microseconds(exchange.median), microseconds(exchange.max),
             fmt::format("{:.2f}", exchange.median / reference_seconds), microseconds(setup.median),
             fmt::format("{:.1f}", setup.median / exchange.median), fmt::to_string(sent.messages),
             fmt::to_string(sent.inter_region_messages), fmt::to_string(sent.items),
             fmt::to_string(sent.inter_region_items)});
    }
    print("{}", lines.to_string());
}

int run_neighbor(const bench_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto regions = topology_of(comm, options.topology_text);
        const auto routes = expand_routes(options.routes);
        on_all_or_none(comm, [&] { make_routes(routes, regions); });
        const auto part = bench::distribute(comm, options.file, options.partition, regions);
        const auto standings =
            bench::contest(comm, regions, part, entrants(routes), options.contest);
        if (comm.rank() == 0)
            (options.as_json ? print_json : print_table)(options, regions, standings);
        const bool is_right = std::all_of(standings.begin(), standings.end(),
                                          [](const auto& one) { return one.found.is_verified; });
        return is_right ? 0 : wrong_result;
    });
}

}  // namespace

void add_bench(CLI::App& app, action& chosen) {
    auto* verb = app.add_subcommand("bench", "Time contenders against each other; under mpirun");
    verb->require_subcommand(1);
    auto options = std::make_shared<bench_options>();
    auto* neighbor = verb->add_subcommand(
        "neighbor", "The halo of y = A x, again and again: MPI by hand, MPI's own, every route");
    neighbor
        ->add_option("FILE", options->file,
                     "Matrix Market file, plain or gzip; or dense:K: every rank sends K items to "
                     "every other, the same K to all the ranks of a region")
        ->required();
    neighbor->add_option("--topology", options->topology_text,
                         "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: by node");
    neighbor->add_option("--partition", options->partition, "block | metis | random:SEED | FILE")
        ->capture_default_str();
    neighbor->add_option("--routes", options->routes, routes_help())->delimiter(',');
    auto& contest = options->contest;
    const auto add_count = [&](const char* name, auto& value, const char* what, int least) {
        neighbor->add_option(name, value, what)
            ->check(CLI::Range(least, 1'000'000'000))
            ->capture_default_str();
    };
    add_count("--iterations", contest.iterations, "Timed exchanges of every contender", 1);
    add_count("--warm-ups", contest.warm_ups, "Exchanges before that", 0);
    add_count("--set-ups", contest.setups, "Timed set-ups of every contender", 1);
    add_count("--item-bytes", contest.item_bytes, "Bytes of an item", 1);
    neighbor->add_flag("--json", options->as_json, "Print JSON");
    neighbor->callback(
        [options, &chosen] { chosen = [options] { return run_neighbor(*options); }; });
}

}  // namespace crossdock::tool
