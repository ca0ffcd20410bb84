// How often the route that is chosen from estimates is the one that is simulated to be fastest.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"
#include "tools/inputs/workload.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

constexpr rank_t region_size = 16;
constexpr double tolerance = 1.05;

struct study_options {
    std::vector<std::string> files;
    std::vector<rank_t> ranks{16, 64, 256, 1024};
    std::vector<std::string> machines;
    std::string partition = "block";
    std::string output;
    bool shares_memory = false;
};

// Regions of 16 ranks; 16 ranks are four regions.
topology regions_of(rank_t num_ranks) {
    const rank_t size = std::min(region_size, num_ranks / 4);
    return topology::from_string(fmt::format("{}x{}", num_ranks / size, size));
}

// What ranks count without knowing each other's patterns, each of the rank that has most of it.
json counts_of(const topology& regions, const std::vector<pattern>& patterns) {
    count_t neighbors = 0;
    count_t neighbors_elsewhere = 0;
    count_t items_sent = 0;
    count_t items_received = 0;
    count_t all_items = 0;
    for (const auto& p : patterns) {
        const auto sends = std::ssize(p.sends.indices);
        const auto receives = std::ssize(p.receives.indices);
        const auto elsewhere = std::ranges::count_if(p.sends.ranks, [&](rank_t destination) {
            return regions.region_of(destination) != regions.region_of(p.rank);
        });
        neighbors = std::max({neighbors, std::ssize(p.sends.ranks), std::ssize(p.receives.ranks)});
        neighbors_elsewhere = std::max<count_t>(neighbors_elsewhere, elsewhere);
        items_sent = std::max<count_t>(items_sent, sends);
        items_received = std::max<count_t>(items_received, receives);
        all_items += sends;
    }
    return {{"most_neighbors", neighbors},
            {"most_neighbors_in_other_regions", neighbors_elsewhere},
            {"most_items_sent", items_sent},
            {"most_items_received", items_received},
            {"mean_items_sent", all_items / std::ssize(patterns)}};
}

// Six digits are enough for a record.
double rounded(double seconds) {
    return std::strtod(fmt::format("{:.6g}", seconds).c_str(), nullptr);
}

// The seconds of a route's plans, by machine.
struct simulated_route {
    std::string name;
    std::vector<double> seconds;
    std::vector<double> prices;
};

std::vector<simulated_route> simulate_all(const rank_layout& layout,
                                          const std::vector<pattern>& patterns,
                                          const std::vector<machine>& machines,
                                          const travel_options& travel) {
    std::vector<simulated_route> routes;
    const auto& sharing = *std::ranges::max_element(machines, {}, &machine::num_cores);
    for (const auto& name : candidate_routes(layout.regions(), sharing)) {
        const auto plans = compile(layout.regions(), patterns, *make_route(name, layout.regions()));
        const auto work = schedule_of(layout, plans, travel);
        auto& one = routes.emplace_back(simulated_route{name, {}, {}});
        for (const auto& m : machines) {
            one.seconds.push_back(to_seconds(simulate(layout, work, m).slowest));
            one.prices.push_back(price(layout, plans, m, travel).seconds);
        }
    }
    return routes;
}

json case_json(std::vector<simulated_route> routes, std::size_t machine_index,
               const route_choice& choice) {
    const auto simulated = [&](const simulated_route& one) { return one.seconds[machine_index]; };
    std::ranges::stable_sort(routes, {}, [&](auto& one) { return one.prices[machine_index]; });
    const auto best = std::ranges::min_element(routes, {}, simulated);
    const auto found = std::ranges::find(routes, choice.route(), &simulated_route::name);
    // What `choose_by_replay` takes: the fastest of the candidates whose plans cost least.
    const auto replayed = [&](std::size_t num_candidates) {
        const auto cheapest = std::span(routes).first(std::min(num_candidates, routes.size()));
        return simulated(*std::ranges::min_element(cheapest, {}, simulated));
    };
    const auto regret = [&](double seconds) {
        return simulated(*best) > 0 ? rounded(seconds / simulated(*best) - 1) : 0;
    };
    json candidates = json::object();
    for (const auto& one : choice.candidates) {
        const auto its = std::ranges::find(routes, one.route, &simulated_route::name);
        candidates[one.route] = {{"estimated_seconds", rounded(one.seconds)},
                                 {"priced_seconds", rounded(its->prices[machine_index])},
                                 {"seconds", rounded(simulated(*its))}};
    }
    return {{"chosen", choice.route()},
            {"regret", regret(simulated(*found))},
            {"regret_of_the_lowest_price", regret(replayed(1))},
            {"regret_with_2_replayed", regret(replayed(2))},
            {"regret_with_3_replayed", regret(replayed(3))},
            {"best", best->name},
            {"best_seconds", rounded(simulated(*best))},
            {"candidates", candidates}};
}

json run(const study_options& options) {
    std::vector<machine> machines;
    for (const auto& name : options.machines) machines.push_back(load_machine(name));
    if (machines.empty()) machines = machine_presets();
    const travel_options travel{8, options.shares_memory};
    json cases = json::array();
    for (const auto& file : options.files) {
        for (const rank_t num_ranks : options.ranks) {
            const rank_layout layout(regions_of(num_ranks));
            const auto work = load_workload(file, options.partition, layout.regions());
            std::vector<pattern> patterns;
            for (auto& rank : halos_from_matrix(work.matrix, work.owners))
                patterns.push_back(std::move(rank.exchange));
            const auto counts = counts_of(layout.regions(), patterns);
            const auto routes = simulate_all(layout, patterns, machines, travel);
            for (std::size_t k = 0; k < machines.size(); ++k) {
                const auto choice = choose_route(layout, patterns, machines[k], {travel, true});
                auto one = case_json(routes, k, choice);
                one["file"] = file.substr(file.rfind('/') + 1);
                one["ranks"] = num_ranks;
                one["machine"] = machines[k].name;
                one["counts"] = counts;
                cases.push_back(std::move(one));
            }
            fmt::print(stderr, "{} on {} ranks\n", file, num_ranks);
        }
    }
    return cases;
}

json summary_of(const json& cases, const char* regret_name) {
    double sum = 0;
    std::size_t num_close = 0;
    for (const auto& one : cases) {
        const double regret = one[regret_name];
        sum += regret;
        num_close += regret <= tolerance - 1;
    }
    const auto num_cases = static_cast<double>(cases.size());
    return {{"share_within_1.05", rounded(static_cast<double>(num_close) / num_cases)},
            {"mean_regret", rounded(sum / num_cases)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Compares the chosen routes with the best ones by simulation");
    study_options options;
    app.add_option("FILE", options.files, "Matrix Market files, or dense:K")->required();
    app.add_option("--ranks", options.ranks, "Numbers of ranks")->delimiter(',');
    app.add_option("--machines", options.machines, "Presets or files; default all presets")
        ->delimiter(',');
    app.add_option("--partition", options.partition, "As analyze")->capture_default_str();
    app.add_option("-o", options.output, "File for the JSON record")->required();
    app.add_flag("--shares-memory", options.shares_memory, "Ranks of a node share memory");
    CLI11_PARSE(app, argc, argv);
    try {
        const auto cases = run(options);
        const json record{{"schema", "crossdock.selection/1"},
                          {"partition", options.partition},
                          {"shares_memory", options.shares_memory},
                          {"num_cases", cases.size()},
                          {"estimated", summary_of(cases, "regret")},
                          {"priced", summary_of(cases, "regret_of_the_lowest_price")},
                          {"with_2_replayed", summary_of(cases, "regret_with_2_replayed")},
                          {"with_3_replayed", summary_of(cases, "regret_with_3_replayed")},
                          {"cases", cases}};
        std::FILE* const file = std::fopen(options.output.c_str(), "w");
        if (!file) throw error(errc::file_error, options.output + " cannot be written");
        fmt::print(file, "{}\n", record.dump(1));
        std::fclose(file);
        for (const char* way : {"estimated", "priced", "with_2_replayed", "with_3_replayed"})
            fmt::print("{}: {}\n", way, record[way].dump());
    } catch (const std::exception& fault) {
        fmt::print(stderr, "{}\n", fault.what());
        return 1;
    }
    return 0;
}
