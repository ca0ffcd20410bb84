#include "satellites/simulator/tools/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

namespace {

json result_json(const simulated_route& result, double direct_seconds) {
    return {{"route", result.route},
            {"dedup", result.is_deduplicated},
            {"slowest_seconds", result.time.slowest_seconds},
            {"mean_seconds", result.time.mean_seconds},
            {"estimated_seconds",
             result.estimated_seconds ? json(*result.estimated_seconds) : json(nullptr)},
            {"priced_seconds", result.priced_seconds},
            {"speedup_over_direct", speedup(direct_seconds, result.time.slowest_seconds)},
            {"share_of_time", shares_json(result.time.shares)},
            {"total", traffic_json(result.sent)}};
}

json results_json(const simulated_level& level) {
    json results = json::array();
    for (const auto& result : level.routes)
        results.push_back(result_json(result, level.direct_seconds));
    return results;
}

const simulated_route& fastest(const simulated_level& level) {
    return *std::min_element(level.routes.begin(), level.routes.end(),
                             [](const simulated_route& a, const simulated_route& b) {
                                 return a.time.slowest_seconds < b.time.slowest_seconds;
                             });
}

// All levels one after the other, over one route.
struct level_sum {
    std::string route;
    bool is_deduplicated;
    double seconds = 0;
};

double sum_of_direct(const std::vector<simulated_level>& levels) {
    double seconds = 0;
    for (const auto& level : levels) seconds += level.direct_seconds;
    return seconds;
}

std::vector<level_sum> sum_levels(const std::vector<simulated_level>& levels) {
    std::vector<level_sum> sums;
    for (const auto& result : levels.front().routes)
        sums.push_back({result.route, result.is_deduplicated});
    for (const auto& level : levels) {
        for (std::size_t k = 0; k < sums.size(); ++k)
            sums[k].seconds += level.routes[k].time.slowest_seconds;
    }
    return sums;
}

// The fastest route of each level.
double sum_of_fastest(const std::vector<simulated_level>& levels) {
    double seconds = 0;
    for (const auto& level : levels) seconds += fastest(level).time.slowest_seconds;
    return seconds;
}

json name_json(const simulated_route& one) {
    return {{"route", one.route}, {"dedup", one.is_deduplicated}};
}

void add_levels(json& document, const std::vector<simulated_level>& levels) {
    const double direct_seconds = sum_of_direct(levels);
    json best = json::array();
    for (std::size_t k = 0; k < levels.size(); ++k) {
        document["levels"].push_back({{"level", k}, {"routes", results_json(levels[k])}});
        best.push_back(name_json(fastest(levels[k])));
        best.back()["level"] = k;
    }
    document["routes"] = json::array();
    for (const auto& [route, is_deduplicated, seconds] : sum_levels(levels)) {
        document["routes"].push_back({{"route", route},
                                      {"dedup", is_deduplicated},
                                      {"slowest_seconds", seconds},
                                      {"speedup_over_direct", speedup(direct_seconds, seconds)}});
    }
    const double seconds = sum_of_fastest(levels);
    document["fastest_of_levels"] = {{"slowest_seconds", seconds},
                                     {"speedup_over_direct", speedup(direct_seconds, seconds)},
                                     {"levels", std::move(best)}};
}

void print_json(const simulate_options& options, const simulated_system& system,
                const std::vector<simulated_level>& levels) {
    auto document = system_json(options, system);
    document["item_bytes"] = options.item_bytes;
    document["executor"] = options.is_loggp ? "persistent" : options.executor;
    if (is_hierarchy(options.input.file)) {
        add_levels(document, levels);
    } else {
        document["routes"] = results_json(levels.front());
        document["fastest"] = name_json(fastest(levels.front()));
        document["auto"] = levels.front().chosen;
    }
    print(document);
}

std::string name_of(const simulated_route& result) {
    return result.route + (result.is_deduplicated ? " with dedup" : "");
}

// Which plan is done first, with which others it ties, and what `auto` would do.
std::string conclusion(const simulated_level& level) {
    const auto& first = fastest(level);
    const double seconds = first.time.slowest_seconds;
    std::string text = "* fastest: " + name_of(first);
    std::string tied;
    for (const auto& one : level.routes) {
        if (&one != &first && is_tie(seconds, one.time.slowest_seconds))
            tied += ", " + name_of(one);
    }
    if (!tied.empty()) text += "; ties with " + tied.substr(2);
    text += fmt::format(". auto takes {}", level.chosen);
    const simulated_route* chosen = nullptr;
    for (const auto& one : level.routes)
        if (one.route == level.chosen) chosen = &one;  // the last one is deduplicated if one is
    if (!chosen) return text + ", which is none of these.";
    if (is_tie(seconds, chosen->time.slowest_seconds)) return text + ".";
    return text + fmt::format(", {:.2f} times as long.", chosen->time.slowest_seconds / seconds);
}

constexpr const char* legend =
    "slowest, mean: of all ranks; estimated: what auto expects, -: it does not consider that "
    "route\n"
    "speed-up: how many times as fast as direct by messages without dedup; waiting to network: "
    "shares of all ranks' time";

void print_level(const simulated_level& level) {
    table lines({"route", "dedup", "slowest us", "mean us", "estimated us", "speed-up", "waiting",
                 "copying", "region", "node", "network", "messages", "inter-region messages"});
    for (const auto& result : level.routes) {
        const bool is_first =
            is_tie(fastest(level).time.slowest_seconds, result.time.slowest_seconds);
        table::row cells{
            result.route + (is_first ? " *" : ""),
            result.is_deduplicated ? "yes" : "no",
            precise_microseconds(result.time.slowest_seconds),
            precise_microseconds(result.time.mean_seconds),
            result.estimated_seconds ? precise_microseconds(*result.estimated_seconds) : "-",
            fmt::format("{:.2f}", speedup(level.direct_seconds, result.time.slowest_seconds))};
        for (auto& cell : shares_cells(result.time.shares)) cells.push_back(std::move(cell));
        cells.push_back(fmt::to_string(result.sent.messages.total));
        cells.push_back(fmt::to_string(result.sent.inter_region_messages.total));
        lines.add(std::move(cells));
    }
    print("{}{}\n", lines.to_string(), conclusion(level));
}

void print_sums(const std::vector<simulated_level>& levels) {
    const double direct_seconds = sum_of_direct(levels);
    table lines({"all levels", "dedup", "slowest us", "speed-up"});
    auto sums = sum_levels(levels);
    for (const auto& [route, is_deduplicated, seconds] : sums) {
        lines.add({route, is_deduplicated ? "yes" : "no", precise_microseconds(seconds),
                   fmt::format("{:.2f}", speedup(direct_seconds, seconds))});
    }
    const double seconds = sum_of_fastest(levels);
    lines.add({"the fastest of each level", "", precise_microseconds(seconds),
               fmt::format("{:.2f}", speedup(direct_seconds, seconds))});
    print("\n{}", lines.to_string());
}

void print_table(const simulate_options& options, const simulated_system& system,
                 const std::vector<simulated_level>& levels) {
    const auto& regions = system.layout.regions();
    print("{}: {} ranks in {} regions and {} nodes, partition {}\n", options.input.file,
          regions.num_ranks(), regions.num_regions(), system.layout.nodes().num_regions(),
          options.input.partition);
    print("simulated on {}, items of {} bytes, {}{}\n{}\n", options.where.text(system.hardware),
          options.item_bytes,
          options.is_loggp ? "messages everywhere" : "executor " + options.executor,
          charging_text(options),
          options.is_loggp ? fmt::format("{}; estimated without LogGP", legend) : legend);
    for (std::size_t k = 0; k < levels.size(); ++k) {
        print("{}", is_hierarchy(options.input.file) ? fmt::format("\nlevel {}\n", k) : "\n");
        print_level(levels[k]);
    }
    if (is_hierarchy(options.input.file)) print_sums(levels);
}

int run(const simulate_options& options) {
    if (!is_first_process()) return 0;
    const auto system = make_system(options);
    if (options.exchange.is_chosen) {
        simulate_exchange(options, system);
        flush_output();
        return 0;
    }
    const auto levels = simulate_routes(options, system);
    options.as_json ? print_json(options, system, levels) : print_table(options, system, levels);
    flush_output();
    return 0;
}

}  // namespace

void add_simulate(CLI::App& app, action& chosen) {
    auto options = std::make_shared<simulate_options>();
    auto* verb = add_verb(app, "simulate");
    verb->add_option("FILE", options->input.file,
                     "A Matrix Market file, plain or gzip; or dense:K, where any two ranks "
                     "exchange K items; or random:K, where each rank needs an item from each of K "
                     "others; or amg:FOLDER[:LEVEL], a recorded multigrid hierarchy")
        ->required();
    add_division(*verb, options->input);
    add_machine(*verb, options->where);
    auto* exchange = add_exchange(*verb, options->exchange,
                                  "Simulate the sparse data exchange of `bench exchange` by every "
                                  "algorithm; auto assumes that no two regions share memory");
    verb->add_option("--routes", options->routes, routes_help())
        ->delimiter(',')
        ->excludes(exchange);
    verb->add_flag("--no-deduplicate", options->without_dedup_only,
                   "Omit the plans with deduplication")
        ->excludes(exchange);
    verb->add_option("--item-bytes", options->item_bytes, "Bytes of an item")
        ->check(in_range(count_t{1}, count_t{1} << 20))
        ->capture_default_str()
        ->excludes(exchange);
    auto* executor = verb->add_option("--executor", options->executor,
                                      "persistent: ranks of a node send messages; auto, "
                                      "shared_memory: they use shared memory")
                         ->check(CLI::IsMember({"auto", "persistent", "shared_memory"}))
                         ->capture_default_str()
                         ->excludes(exchange);
    auto* loggp =
        verb->add_flag("--loggp", options->is_loggp,
                       "Strict LogGP, as in LogGOPSim: bytes also keep the receiver's core busy, "
                       "ranks of a node send messages, and searching takes no time")
            ->excludes(executor);
    verb->add_option("--gap", options->gap_seconds, "LogGP's g, in seconds; default: 0")
        ->check(in_range(0.0, 1.0))
        ->needs(loggp);
    verb->add_option("--late", options->late, "Ranks that start late, as RANK:SECONDS,...")
        ->delimiter(',');
    auto* noise = verb->add_option("--noise", options->noise_seconds,
                                   "Mean of a random delay of every operation, in seconds")
                      ->check(in_range(0.0, 1.0));
    verb->add_option("--seed", options->seed, "Seed of the noise")->needs(noise);
    verb->add_option("--memory", options->memory_bytes,
                     "Bytes of memory that may be used, such as 8G; default: all that is available")
        ->transform(CLI::AsSizeValue(false));
    verb->add_flag("--json", options->as_json, "Print JSON");
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool
