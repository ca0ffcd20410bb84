#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/analyze.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

struct analyze_options {
    analyze_input input;
    std::vector<std::string> routes{"all"};
    bool without_dedup_only = false;
    bool skip_verify = false;
    exchange_choice exchange;
    array_analysis array;
};

struct route_report {
    std::string route;
    bool is_deduplicated;
    plan_statistics statistics;
};

route_report count(const analyze_options& options, const topology& regions,
                   std::span<const pattern> patterns, const route& r, bool deduplicate) {
    const auto plans = compile(regions, patterns, r, {.deduplicate = deduplicate});
    if (!options.skip_verify) verify(plans, patterns);
    return {r.name(), deduplicate, analyze(regions, plans)};
}

std::vector<route_report> count_all(const analyze_options& options, const topology& regions) {
    const auto routes = make_routes(expand_routes(options.routes), regions);
    progress done("analyze");
    const auto patterns = load_patterns(options.input, regions);
    std::vector<route_report> reports;
    for (const auto& r : routes) {
        done.tell(fmt::format("route {}", r->name()));
        reports.push_back(count(options, regions, patterns, *r, false));
        if (!options.without_dedup_only)
            reports.push_back(count(options, regions, patterns, *r, true));
    }
    return reports;
}

void print_json(const analyze_options& options, const topology& regions,
                const std::vector<route_report>& reports) {
    json document{{"schema", "crossdock.analyze/1"},     {"file", options.input.file},
                  {"ranks", regions.num_ranks()},        {"regions", regions.num_regions()},
                  {"topology", regions.to_string()},     {"partition", options.input.partition},
                  {"is_verified", !options.skip_verify}, {"routes", json::array()}};
    for (const auto& [route, is_deduplicated, statistics] : reports) {
        json stages = json::array();
        for (const auto& stage : statistics.stages) stages.push_back(traffic_json(stage));
        document["routes"].push_back({{"route", route},
                                      {"dedup", is_deduplicated},
                                      {"stages", std::move(stages)},
                                      {"total", traffic_json(statistics.total)},
                                      {"buffer_items", spread_json(statistics.buffer_items)}});
    }
    print(document);
}

void print_table(const analyze_options& options, const topology& regions,
                 const std::vector<route_report>& reports) {
    print("{}: {} ranks in {} regions, partition {}; max: the rank that sends most\n\n",
          options.input.file, regions.num_ranks(), regions.num_regions(), options.input.partition);
    table lines({"route", "dedup", "stages", "messages", "max", "items", "max",
                 "inter-region messages", "max", "inter-region items", "max", "buffer max"});
    for (const auto& [route, is_deduplicated, statistics] : reports) {
        table::row cells{route, is_deduplicated ? "yes" : "no",
                         fmt::to_string(statistics.stages.size())};
        const auto& total = statistics.total;
        for (const summary& numbers :
             {total.messages, total.items, total.inter_region_messages, total.inter_region_items}) {
            cells.push_back(fmt::to_string(numbers.total));
            cells.push_back(fmt::to_string(numbers.max));
        }
        cells.push_back(fmt::to_string(statistics.buffer_items.max));
        lines.add(std::move(cells));
    }
    print("{}", lines.to_string());
}

void analyze_routes(const analyze_options& options, const topology& regions) {
    const auto reports = count_all(options, regions);
    options.input.as_json ? print_json(options, regions, reports)
                          : print_table(options, regions, reports);
}

int run(const analyze_options& options) {
    if (!is_first_process()) return 0;
    const auto& input = options.input;
    const auto regions = input.regions();
    bool is_right = true;
    if (options.array.is_chosen) {
        is_right = analyze_array(input, options.array, options.routes, regions);
    } else if (options.exchange.is_chosen) {
        analyze_exchange(input, options.exchange, regions);
    } else {
        analyze_routes(options, regions);
    }
    flush_output();
    return is_right ? 0 : 1;
}

}  // namespace

void add_analyze(CLI::App& app, action& chosen) {
    auto options = std::make_shared<analyze_options>();
    auto* verb = add_verb(app, "analyze");
    auto& input = options->input;
    auto* file = verb->add_option(
        "FILE", input.file,
        "A Matrix Market file, plain or gzip; or dense:K, where any two ranks exchange K items; or "
        "random:K, where each rank needs an item from each of K others");
    auto* partition = add_division(*verb, input);
    auto* exchange = add_exchange(
        *verb, options->exchange,
        "Count what every algorithm sends in the sparse data exchange of `bench exchange`, "
        "including envelopes; auto assumes that no two regions share memory");
    auto* array = add_array_analysis(*verb, options->array);
    for (auto* other : {file, partition, exchange}) array->excludes(other);
    verb->add_option("--routes", options->routes, routes_help())
        ->delimiter(',')
        ->excludes(exchange);
    verb->add_flag("--no-deduplicate", options->without_dedup_only,
                   "Omit the plans with deduplication")
        ->excludes(exchange)
        ->excludes(array);
    verb->add_flag("--no-verify", options->skip_verify, "Do not verify the plans first")
        ->excludes(exchange)
        ->excludes(array);
    verb->add_flag("--json", input.as_json, "Print JSON");
    verb->callback([options, file, &chosen] {
        if (!options->array.is_chosen && file->count() == 0) throw CLI::RequiredError("FILE");
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool
