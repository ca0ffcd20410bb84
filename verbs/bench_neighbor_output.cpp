#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench_neighbor.hpp"

namespace crossdock::tool {

namespace {

json left_out_json(const neighbor_options& options) {
    json left_out = json::array();
    for (const auto& baseline : asked_baselines(options)) {
        if (!baseline.obstacle.empty())
            left_out.push_back({{"name", baseline.name}, {"reason", baseline.obstacle}});
    }
    return left_out;
}

table::row cells_of(const bench::standing& one, const reference_time& reference) {
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
            reference.ratio(exchange.median),
            microseconds(setup.median),
            fmt::format("{:.1f}", setup.median / exchange.median),
            fmt::to_string(sent.messages),
            fmt::to_string(sent.inter_region_messages),
            fmt::to_string(sent.items),
            fmt::to_string(sent.inter_region_items)};
}

void print_overlap(const std::vector<bench::standing>& standings) {
    print(
        "\n{}\n",
        "overlap, medians: hidden = exchange + compute - together, efficiency = hidden / exchange");
    table lines({"contender", "executor", "dedup", "exchange", "compute", "together", "hidden",
                 "efficiency"});
    for (const auto& one : standings) {
        const auto& hidden = *one.hidden;
        lines.add({one.name, one.executor.empty() ? "-" : one.executor,
                   one.is_deduplicated ? "yes" : "no", microseconds(hidden.exchange_seconds.median),
                   microseconds(hidden.compute_seconds.median),
                   microseconds(hidden.together_seconds.median),
                   microseconds(hidden.hidden_seconds()),
                   fmt::format("{:.2f}", hidden.efficiency())});
    }
    print("{}", lines.to_string());
}

// A contender's product, by the contender's name alone.
struct product_line {
    std::string name;
    bench::timing seconds;
};

void print_products(const std::vector<bench::standing>& standings) {
    std::vector<product_line> products;
    for (const auto& one : standings) products.push_back({one.name, *one.product_seconds});
    const auto reference = fastest_of_mpi(products, &product_line::seconds, &product_line::name);
    print(
        "\nproduct: the exchange, and then y = A x of every rank; local = product - exchange, of "
        "medians; -: less than they vary\n{}\n",
        reference.legend());
    table lines(
        {"contender", "executor", "dedup", "min", "median", "max", "ratio", "exchange", "local"});
    for (const auto& one : standings) {
        const auto& seconds = *one.product_seconds;
        const double local = seconds.median - one.exchange_seconds.median;
        lines.add({one.name, one.executor.empty() ? "-" : one.executor,
                   one.is_deduplicated ? "yes" : "no", microseconds(seconds.min),
                   microseconds(seconds.median), microseconds(seconds.max),
                   reference.ratio(seconds.median), microseconds(one.exchange_seconds.median),
                   local > 0 ? microseconds(local) : "-"});
    }
    print("{}", lines.to_string());
}

void print_choices(const std::vector<bench::standing>& standings) {
    for (const auto& one : standings) {
        if (!one.choose_seconds) continue;
        const auto routes = fmt::format("{}", fmt::join(one.routes, ", "));
        print("{}, {}{}: took {}, chosen in {} microseconds\n", one.name, one.executor,
              one.is_deduplicated ? ", dedup" : "", routes,
              microseconds(one.choose_seconds->median));
    }
}

void print_table(const std::vector<bench::standing>& standings) {
    table lines({"contender", "executor", "dedup", "verified", "min", "median", "max", "ratio",
                 "set-up", "in exchanges", "messages", "inter-region", "items", "inter-region"});
    const auto reference =
        fastest_of_mpi(standings, &bench::standing::exchange_seconds, &bench::standing::name);
    for (const auto& one : standings) lines.add(cells_of(one, reference));
    print("{}\n{}", reference.legend() + '\n', lines.to_string());
    print_choices(standings);
    if (standings.front().product_seconds) print_products(standings);
    if (standings.front().hidden) print_overlap(standings);
}

}  // namespace

void print_neighbor_json(const neighbor_options& options, const topology& regions,
                         const neighbor_result& found) {
    json document = record_head("crossdock.bench.neighbor/1", options.input, regions);
    document["amg"] = options.is_amg;
    document["direction"] = options.direction;
    document["nodes"] = options.nodes_text.empty() ? json(nullptr) : json(options.nodes_text);
    document["item_bytes"] = options.contest.item_bytes;
    document["values"] = options.num_values != 0 ? json(options.num_values) : json(nullptr);
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["in_a_row"] = options.contest.in_a_row;
    document["progress_thread"] = options.contest.has_progress_thread;
    document["setups"] = options.contest.setups;
    document["levels"] = json::array();
    for (const auto& [num_rows, standings] : found.levels) {
        document["levels"].push_back({{"level", document["levels"].size()},
                                      {"rows", num_rows},
                                      {"contenders", contenders_json(standings)}});
    }
    document["contenders"] = contenders_json(found.standings);
    document["left_out"] = left_out_json(options);
    print(document);
}

void print_neighbor_tables(const neighbor_options& options, const topology& regions,
                           const neighbor_result& found) {
    print("{}: {} ranks, topology {}, {}, {} bytes per item, {} iterations of {} in a row, {}\n",
          options.input.file, regions.num_ranks(), regions.to_string(), options.direction,
          options.contest.item_bytes, options.contest.iterations, options.contest.in_a_row,
          mpi_version());
    print("{}\n", "microseconds of the slowest rank; set-up: median, with the first exchange");
    for (std::size_t level = 0; level < found.levels.size(); ++level) {
        print("{}level {}, {} rows\n", level == 0 ? "" : "\n", level, found.levels[level].num_rows);
        print_table(found.levels[level].standings);
    }
    if (!found.levels.empty()) print("\nall {} levels, one after the other\n", found.levels.size());
    print_table(found.standings);
    for (const auto& baseline : asked_baselines(options)) {
        if (!baseline.obstacle.empty())
            print("\nwithout {}: {}\n", baseline.name, baseline.obstacle);
    }
}

}  // namespace crossdock::tool
