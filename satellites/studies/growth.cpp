// What planning and choosing cost a rank, as ranks become more and each keeps as many partners.
#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "satellites/studies/print_record.hpp"
#include "src/plan/planning_rounds.hpp"
#include "tools/inputs/workload.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

struct study_options {
    std::vector<rank_t> ranks{64, 256, 1024, 4096, 16384};
    std::vector<std::string> routes{"direct", "two_step", "three_step",
                                    "grid:2", "grid:3",   "hypercube"};
    count_t num_partners = 20;
    rank_t region_size = 16;
    std::string machine = "generic_100g";
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double heap_bytes() {
    const auto heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
}

// Plans of all ranks, compiled one rank after the other in this process.
json planned(const topology& regions, const std::vector<pattern>& patterns, const route& r) {
    const double bytes_before = heap_bytes();
    const double begin = now();
    std::vector<plan_compiler> ranks;
    ranks.reserve(patterns.size());
    for (const auto& p : patterns) ranks.emplace_back(regions, p, r, compile_options{});
    std::vector<count_t> num_sent(ranks.size());
    double most_bytes = 0;
    run_planning_rounds(ranks, [&](int, const auto& inboxes) {
        for (const auto& inbox : inboxes)
            for (const auto& message : inbox) ++num_sent[static_cast<std::size_t>(message.peer)];
        most_bytes = std::max(most_bytes, heap_bytes());
    });
    const auto plans = finish_all(ranks);
    const double seconds = now() - begin;
    std::vector<plan_compiler>().swap(ranks);
    const double plan_bytes = heap_bytes() - bytes_before;
    count_t most_messages = 0;
    count_t num_items = 0;
    for (const auto& one : plans) {
        count_t num_messages = 0;
        for (const auto& stage : one.stages()) {
            num_messages += static_cast<count_t>(stage.sends.size());
            for (const auto& sent : stage.sends)
                num_items += static_cast<count_t>(sent.positions.size());
        }
        most_messages = std::max(most_messages, num_messages);
    }
    const auto num_ranks = static_cast<double>(patterns.size());
    count_t all_sent = 0;
    for (const count_t one : num_sent) all_sent += one;
    return {{"route", r.name()},
            {"planning_seconds", seconds / num_ranks},
            {"planning_bytes", (most_bytes - bytes_before) / num_ranks},
            {"plan_bytes", plan_bytes / num_ranks},
            {"mean_headers", static_cast<double>(all_sent) / num_ranks},
            {"most_headers", *std::ranges::max_element(num_sent)},
            {"items", static_cast<double>(num_items) / num_ranks},
            {"most_messages", most_messages}};
}

json chosen(const topology& regions, const std::vector<pattern>& patterns, const machine& m) {
    const double begin = now();
    const auto choice = choose_route(rank_layout(regions), patterns, m, {{8, false}});
    return {{"route", choice.route()},
            {"seconds", (now() - begin) / static_cast<double>(patterns.size())}};
}

json run(const study_options& options) {
    const auto m = load_machine(options.machine);
    json sizes = json::array();
    for (const rank_t num_ranks : options.ranks) {
        const auto regions = topology::from_string(
            fmt::format("{}x{}", num_ranks / options.region_size, options.region_size));
        const auto work =
            load_workload(fmt::format("random:{}", options.num_partners), "block", regions);
        std::vector<pattern> patterns;
        for (auto& rank : halos_from_matrix(work.matrix, work.owners))
            patterns.push_back(std::move(rank.exchange));
        json routes = json::array();
        for (const auto& name : options.routes)
            routes.push_back(planned(regions, patterns, *make_route(name, regions)));
        sizes.push_back({{"ranks", num_ranks},
                         {"routes", std::move(routes)},
                         {"choice", chosen(regions, patterns, m)}});
        fmt::print(stderr, "{} ranks\n", num_ranks);
    }
    return {{"schema", "crossdock.study.growth/1"},
            {"partners", options.num_partners},
            {"region_size", options.region_size},
            {"machine", options.machine},
            {"sizes", std::move(sizes)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("What planning and choosing cost a rank, as ranks become more");
    study_options options;
    app.add_option("--ranks", options.ranks, "Multiples of a region's ranks")->delimiter(',');
    app.add_option("--routes", options.routes, "As make_route takes them")->delimiter(',');
    app.add_option("--partners", options.num_partners, "Of a rank, random")->capture_default_str();
    app.add_option("--region-size", options.region_size, "Ranks")->capture_default_str();
    app.add_option("--machine", options.machine, "For the choice")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}
