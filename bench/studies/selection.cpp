// How often the route that is chosen from estimates is the one that is simulated to be fastest.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/common/workload.hpp"
#include "crossdock/plan/compile.hpp"
#include "crossdock/select/route_choice.hpp"
#include "crossdock/simulator/plan_schedule.hpp"
#include "crossdock/simulator/simulate.hpp"

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

// The simulated seconds of every route, by machine.
struct simulated_route {
    std::string name;
    std::vector<double> seconds;
};

std::vector<simulated_route> simulate_all(const rank_layout& layout,
                                          const std::vector<pattern>& patterns,
                                          const std::vector<machine>& machines,
                                          const travel_options& travel) {
    std::vector<simulated_route> routes;
    for (const auto& name : candidate_routes(layout.regions())) {
        const auto plans = compile(layout.regions(), patterns, *make_route(name, layout.regions()));
        const auto work = schedule_of(layout, plans, travel);
        auto& one = routes.emplace_back(simulated_route{name, {}});
        for (const auto& m : machines)
            one.seconds.push_back(static_cast<double>(simulate(layout, work, m).slowest) * 1e-12);
    }
    return routes;
}

json case_json(const std::vector<simulated_route>& routes, std::size_t machine_index,
               const route_choice& choice) {
    json simulated;
    double best = 0;
    double chosen = 0;
    for (const auto& one : routes) {
        const double seconds = one.seconds[machine_index];
        simulated[one.name] = seconds;
        if (best == 0 || seconds < best) best = seconds;
        if (one.name == choice.route()) chosen = seconds;
    }
    json estimated;
    for (const auto& candidate : choice.candidates) estimated[candidate.route] = candidate.seconds;
    return {{"chosen", choice.route()},
            {"regret", best > 0 ? chosen / best - 1 : 0},
            {"simulated_seconds", simulated},
            {"estimated_seconds", estimated}};
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
            const auto work = bench::load_workload(file, options.partition, layout.regions());
            std::vector<pattern> patterns;
            for (auto& rank : halos_from_matrix(work.matrix, work.owners))
                patterns.push_back(std::move(rank.exchange));
            const auto routes = simulate_all(layout, patterns, machines, travel);
            for (std::size_t k = 0; k < machines.size(); ++k) {
                const auto choice = choose_route(layout, patterns, machines[k], {travel, true});
                auto one = case_json(routes, k, choice);
                one["file"] = file.substr(file.rfind('/') + 1);
                one["ranks"] = num_ranks;
                one["machine"] = machines[k].name;
                cases.push_back(std::move(one));
            }
            fmt::print(stderr, "{} on {} ranks\n", file, num_ranks);
        }
    }
    return cases;
}

json summary_of(const json& cases) {
    double sum = 0;
    std::size_t num_close = 0;
    for (const auto& one : cases) {
        const double regret = one["regret"];
        sum += regret;
        num_close += regret <= tolerance - 1;
    }
    const auto num_cases = static_cast<double>(cases.size());
    return {{"cases", cases.size()},
            {"share_within_1.05", static_cast<double>(num_close) / num_cases},
            {"mean_regret", sum / num_cases}};
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
                          {"summary", summary_of(cases)},
                          {"cases", cases}};
        std::FILE* const file = std::fopen(options.output.c_str(), "w");
        if (!file) throw error(errc::file_error, options.output + " cannot be written");
        fmt::print(file, "{}\n", record.dump(1));
        std::fclose(file);
        fmt::print("{}\n", record["summary"].dump());
    } catch (const std::exception& fault) {
        fmt::print(stderr, "{}\n", fault.what());
        return 1;
    }
    return 0;
}
