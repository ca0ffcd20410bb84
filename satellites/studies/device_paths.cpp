// Simulates the halos of a matrix or of a multigrid hierarchy by three ways: items in memory of the host, items of
// devices that are staged through it, and items that MPI sends from device to device.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/schedule.hpp"
#include "crossdock/simulate.hpp"
#include "satellites/studies/print_record.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

constexpr count_t item_bytes = 8;
constexpr double picosecond = 1e-12;

struct study_options {
    std::string file;
    rank_t num_ranks = 128;
    rank_t ranks_per_node = 4;
    std::string machine = "lassen";
};

picoseconds copy_time(const machine& m, std::size_t num_items) {
    if (num_items == 0) return 0;
    const auto& [latency, per_byte] = m.device->copy;
    return static_cast<picoseconds>(
        (latency + per_byte * static_cast<double>(num_items) * static_cast<double>(item_bytes)) /
        picosecond);
}

// Seconds until the last rank is done. Where items are staged, a rank begins when its items have come down, and is done
// when what it got has gone up.
double slowest(const rank_layout& layout, const std::vector<plan>& plans, const machine& m,
               const std::vector<pattern>& patterns, bool shares_memory, bool is_staged) {
    simulation_options options;
    if (is_staged) {
        for (const auto& p : patterns) {
            const std::set<count_t> sent(p.sends.indices.begin(), p.sends.indices.end());
            options.start.push_back(copy_time(m, sent.size()));
        }
    }
    auto finish =
        simulate(layout, schedule_of(layout, plans, {item_bytes, shares_memory}), m, options)
            .finish;
    for (std::size_t p = 0; is_staged && p < finish.size(); ++p)
        finish[p] = std::max(finish[p], options.start[p]) +
                    copy_time(m, patterns[p].receives.indices.size());
    return static_cast<double>(*std::ranges::max_element(finish)) * picosecond;
}

json run_level(const rank_layout& layout, const workload& level, const machine& m) {
    const auto& regions = layout.regions();
    std::vector<pattern> patterns;
    for (auto& rank : halos_from_matrix(level.matrix, level.owners))
        patterns.push_back(std::move(rank.exchange));
    std::size_t most_messages = 0, most_items = 0;
    for (const auto& p : patterns) {
        most_messages = std::max(most_messages, p.sends.size());
        most_items = std::max(most_items, p.sends.indices.size());
    }
    json found{{"rows", level.matrix.num_columns},
               {"most_messages", most_messages},
               {"most_items", most_items}};
    const auto is_less = [](const json& a, const json& b) { return a["seconds"] < b["seconds"]; };
    std::vector<json> host, staged;
    for (const auto& name : candidate_routes(regions, m)) {
        const auto plans = compile(regions, patterns, *make_route(name, regions));
        const auto seconds = [&](bool is_staged) {
            return json{{"route", name},
                        {"seconds", slowest(layout, plans, m, patterns, true, is_staged)}};
        };
        host.push_back(seconds(false));
        staged.push_back(seconds(true));
    }
    found["host"] = *std::ranges::min_element(host, is_less);
    found["staged"] = *std::ranges::min_element(staged, is_less);
    const auto plans = compile(regions, patterns, *make_route("direct", regions), {false});
    found["direct"] = {
        {"seconds", slowest(layout, plans, machine_of_devices(m), patterns, false, false)}};
    return found;
}

json run(const study_options& options) {
    const auto m = load_machine(options.machine);
    const auto nodes = std::to_string(options.num_ranks / options.ranks_per_node) + "x" +
                       std::to_string(options.ranks_per_node);
    const rank_layout layout(topology::from_string(nodes));
    json levels = json::array();
    for (const auto& level : load_levels(options.file, "block", layout.regions()))
        levels.push_back(run_level(layout, level, m));
    return {{"machine", m.name}, {"nodes", nodes}, {"levels", std::move(levels)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Simulates halos of arrays in memory of devices by all paths");
    study_options options;
    app.add_option("FILE", options.file, "A matrix, or amg:FOLDER")->required();
    app.add_option("--ranks", options.num_ranks, "A device for each")->capture_default_str();
    app.add_option("--ranks-per-node", options.ranks_per_node, "Devices")->capture_default_str();
    app.add_option("--machine", options.machine, "One with costs of devices")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}
