#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/neighbor/contest.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/bench.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/table.hpp"

namespace crossdock::tool {

namespace {

struct neighbor_options {
    bench_input input;
    std::string direction = "forward";
    std::size_t num_values = 0;  // 0: whatever --item-bytes says
    std::vector<std::string> baselines;
    std::vector<std::string> routes{"all"};
    bench::contest_options contest;
    bool as_json = false;
};

std::vector<std::string> baseline_names() {
    std::vector<std::string> names;
    for (const auto& baseline : bench::baselines()) names.push_back(baseline.name);
    return names;
}

// Those that are asked for, whether this build has them or not.
std::vector<bench::entrant> asked_baselines(const neighbor_options& options) {
    std::vector<bench::entrant> asked;
    for (const auto& name : options.baselines) {
        for (const auto& baseline : bench::baselines())
            if (baseline.name == name) asked.push_back(baseline);
    }
    return asked;
}

// The first one is what the others are compared with.
std::vector<bench::entrant> entrants(const neighbor_options& options,
                                     const std::vector<std::string>& routes) {
    std::vector<bench::entrant> all;
    for (const auto& baseline : asked_baselines(options))
        if (baseline.obstacle.empty()) all.push_back(baseline);
    for (const auto& route : routes) {
        for (const bool deduplicate : {false, true})
            all.push_back(bench::crossdock_route(route, deduplicate));
    }
    return all;
}

json contender_json(const bench::standing& one) {
    return {{"name", one.name},
            {"executor", one.executor.empty() ? json(nullptr) : json(one.executor)},
            {"dedup", one.is_deduplicated},
            {"verified", one.found.is_verified},
            {"setup_seconds", timing_json(one.setup_seconds)},
            {"exchange_seconds", timing_json(one.exchange_seconds)},
            {"messages", one.found.sent.messages},
            {"inter_region_messages", one.found.sent.inter_region_messages},
            {"items", one.found.sent.items},
            {"inter_region_items", one.found.sent.inter_region_items}};
}

json left_out_json(const neighbor_options& options) {
    json left_out = json::array();
    for (const auto& baseline : asked_baselines(options)) {
        if (!baseline.obstacle.empty())
            left_out.push_back({{"name", baseline.name}, {"reason", baseline.obstacle}});
    }
    return left_out;
}

void print_json(const neighbor_options& options, const topology& regions,
                const std::vector<bench::standing>& standings) {
    json document = record_head("crossdock.bench.neighbor/1", options.input, regions);
    document["direction"] = options.direction;
    document["item_bytes"] = options.contest.item_bytes;
    document["values"] = options.num_values != 0 ? json(options.num_values) : json(nullptr);
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["setups"] = options.contest.setups;
    document["contenders"] = json::array();
    for (const auto& one : standings) document["contenders"].push_back(contender_json(one));
    document["left_out"] = left_out_json(options);
    print(document);
}

table::row cells_of(const bench::standing& one, const bench::standing& reference) {
    const auto& [is_verified, sent] = one.found;
    const auto& setup = one.setup_seconds;
    const auto& exchange = one.exchange_seconds;
    return {one.name,
            one.executor.empty() ? "-" : one.executor,
            one.is_deduplicated ? "yes" : "no",
            is_verified ? "yes" : "NO",
            microseconds(exchange.min),
            microseconds(exchange.median),
            microseconds(exchange.max),
            fmt::format("{:.2f}", exchange.median / reference.exchange_seconds.median),
            microseconds(setup.median),
            fmt::format("{:.1f}", setup.median / exchange.median),
            fmt::to_string(sent.messages),
            fmt::to_string(sent.inter_region_messages),
            fmt::to_string(sent.items),
            fmt::to_string(sent.inter_region_items)};
}

void print_table(const neighbor_options& options, const topology& regions,
                 const std::vector<bench::standing>& standings) {
    print("{}: {} ranks, topology {}, {}, {} bytes per item, {} iterations, {}\n",
          options.input.file, regions.num_ranks(), regions.to_string(), options.direction,
          options.contest.item_bytes, options.contest.iterations, mpi_version());
    print(
        "microseconds of the slowest rank; ratio: median to {}'s; set-up: median, with the first "
        "exchange\n\n",
        standings.front().name);
    table lines({"contender", "executor", "dedup", "verified", "min", "median", "max", "ratio",
                 "set-up", "in exchanges", "messages", "inter-region", "items", "inter-region"});
    for (const auto& one : standings) lines.add(cells_of(one, standings.front()));
    print("{}", lines.to_string());
    for (const auto& baseline : asked_baselines(options)) {
        if (!baseline.obstacle.empty())
            print("\nwithout {}: {}\n", baseline.name, baseline.obstacle);
    }
}

int run(const neighbor_options& options) {
    return on_all_ranks([&](const communicator& comm) {
        const auto& input = options.input;
        const auto regions = topology_of(comm, input.topology_text);
        const auto routes = expand_routes(options.routes);
        on_all_or_none(comm, [&] { make_routes(routes, regions); });
        const auto part = bench::distribute(comm, input.file, input.partition, regions);
        const auto standings =
            bench::contest(comm, regions, part, entrants(options, routes), options.contest);
        if (comm.rank() == 0)
            (options.as_json ? print_json : print_table)(options, regions, standings);
        return exit_code(standings);
    });
}

void choose_items(neighbor_options& options) {
    if (options.num_values != 0) options.contest.item_bytes = options.num_values * sizeof(double);
    if (options.direction == "forward") return;
    options.contest.way = bench::direction::reverse;
    if (options.contest.item_bytes % sizeof(double) != 0)
        throw CLI::ValidationError("--item-bytes", "what is added are doubles of 8 bytes");
}

}  // namespace

void add_bench_neighbor(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<neighbor_options>();
    auto* neighbor = verb.add_subcommand(
        "neighbor",
        "The halo of y = A x, again and again: MPI by hand, MPI's own, PETSc's, every route");
    add_input(*neighbor, options->input,
              "every rank sends K items to every other, the same K to all the ranks of a region");
    neighbor
        ->add_option("--direction", options->direction,
                     "forward: items are copied into slots; reverse: slots, of doubles, are added "
                     "to items")
        ->check(CLI::IsMember({"forward", "reverse"}))
        ->capture_default_str();
    options->baselines = baseline_names();
    neighbor
        ->add_option("--baselines", options->baselines,
                     "What the library is compared with, separated by commas; the first is the "
                     "reference")
        ->delimiter(',')
        ->check(CLI::IsMember(baseline_names()))
        ->capture_default_str();
    neighbor->add_option("--routes", options->routes, routes_help())->delimiter(',');
    auto& contest = options->contest;
    add_count(*neighbor, "--iterations", contest.iterations, "Timed exchanges of every contender",
              1);
    add_count(*neighbor, "--warm-ups", contest.warm_ups, "Exchanges before that", 0);
    add_count(*neighbor, "--set-ups", contest.setups, "Timed set-ups of every contender", 1);
    auto* item_bytes =
        add_count(*neighbor, "--item-bytes", contest.item_bytes, "Bytes of an item", 1);
    neighbor
        ->add_option("--values", options->num_values,
                     "Values of 8 bytes in an item, as of several right-hand sides")
        ->check(CLI::Range(1, 100'000'000))
        ->excludes(item_bytes);
    neighbor->add_flag("--json", options->as_json, "Print JSON");
    neighbor->callback([options, &chosen] {
        choose_items(*options);
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
