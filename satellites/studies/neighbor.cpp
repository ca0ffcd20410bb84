// The exchanges of a recorded multigrid hierarchy over the routes of the neighborhood-collective study.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "satellites/studies/print_record.hpp"
#include "satellites/studies/replay.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

constexpr count_t item_bytes = 8;

struct study_options {
    std::string folder;
    std::string machine_name = "lassen";
    std::vector<rank_t> ranks;
    std::vector<rank_t> cuts;  // columns of parts that are kept
    rank_t num_columns = 64;   // of all parts
    rank_t region_size = 16;
    rank_t regions_per_node = 2;
    bool has_only_the_studys = false;  // standard, partial and full
};

// One way of sending a level's items.
struct contender {
    std::string route;
    bool is_deduplicated;
};

rank_t num_parts(const hierarchy_level& level) {
    return static_cast<rank_t>(level.starts.size()) - 1;
}

// The parts in the first columns, and in as many rows that their proportion stays that of all: a problem
// that is smaller by a square, its coarsening that of the whole.
//
//     4 columns, 2 rows, 2 columns kept        parts 0 1 2 3    become    0 1
//                                                    4 5 6 7
hierarchy_level cut(const hierarchy_level& level, rank_t num_columns, rank_t kept) {
    const rank_t num_rows = num_parts(level) / num_columns * kept / num_columns;
    const auto is_kept = [&](rank_t part) {
        return part % num_columns < kept && part / num_columns < num_rows;
    };
    const auto renumber = [&](rank_t part) {
        return part / num_columns * kept + part % num_columns;
    };
    hierarchy_level result;
    result.starts.push_back(0);
    for (rank_t part = 0; part < num_parts(level); ++part) {
        if (!is_kept(part)) continue;
        const auto p = static_cast<std::size_t>(part);
        result.starts.push_back(result.starts.back() + level.starts[p + 1] - level.starts[p]);
    }
    for (const auto& m : level.messages) {
        if (is_kept(m.receiver) && is_kept(m.source))
            result.messages.push_back({renumber(m.receiver), renumber(m.source), m.indices});
    }
    return result;
}

std::vector<pattern> patterns_of(const hierarchy_level& level, rank_t num_ranks) {
    const auto work = fold(level, num_ranks);
    std::vector<pattern> patterns;
    for (auto& rank : halos_from_matrix(work.matrix, work.owners))
        patterns.push_back(std::move(rank.exchange));
    return patterns;
}

rank_layout layout_of(rank_t num_ranks, const study_options& options) {
    const rank_t node_size = options.region_size * options.regions_per_node;
    if (num_ranks % node_size != 0)
        throw error(errc::invalid_argument,
                    fmt::format("{} ranks do not fill nodes of {}", num_ranks, node_size));
    const auto text = [&](rank_t size) { return fmt::format("{}x{}", num_ranks / size, size); };
    return {topology::from_string(text(options.region_size)),
            topology::from_string(text(node_size))};
}

// The most items in a message from one region to another.
std::size_t largest_between(const topology& regions, const std::vector<plan>& plans) {
    std::size_t most = 0;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const region_t region = regions.region_of(static_cast<rank_t>(rank));
        for (const auto& stage : plans[rank].stages()) {
            for (const auto& m : stage.sends) {
                if (regions.region_of(m.destination) != region)
                    most = std::max(most, m.positions.size());
            }
        }
    }
    return most;
}

json replay(const rank_layout& layout, const std::vector<pattern>& patterns, const machine& m,
            const contender& one) {
    const auto& regions = layout.regions();
    const auto way = make_route(one.route, regions);
    const auto plans = compile(regions, patterns, *way, {.deduplicate = one.is_deduplicated});
    json result{{"route", one.route}, {"dedup", one.is_deduplicated}};
    result["sent"] = bench::to_json(bench::count(regions, plans));
    result["largest_between_items"] = largest_between(regions, plans);
    result["time"] = bench::times(layout, plans, m, {item_bytes, false});
    result["stage_by_stage_seconds"] =
        bench::simulated_seconds(layout, bench::stage_by_stage(plans, item_bytes), m);
    result["shared_memory_seconds"] =
        bench::simulated_seconds(layout, schedule_of(layout, plans, {item_bytes, true}), m);
    result["planning_seconds"] = bench::simulated_seconds(
        layout, bench::planning(regions, patterns, *way, one.is_deduplicated), m);
    return result;
}

json level_json(const hierarchy_level& level, const rank_layout& layout, const machine& m,
                bool has_only_the_studys) {
    const auto patterns = patterns_of(level, layout.num_ranks());
    json result{{"rows", level.starts.back()}};
    std::vector<contender> contenders{
        {"direct", false}, {"three_step", false}, {"three_step", true}};
    if (!has_only_the_studys) {
        contenders = {{"direct", false}, {"two_step", false}, {"three_step", false}};
        for (const auto& name : candidate_routes(layout.regions(), m))
            contenders.push_back({name, true});
        result["choice"] = choose_route(layout, patterns, m, {{item_bytes, false}, true}).route();
    }
    for (const auto& one : contenders) result["routes"].push_back(replay(layout, patterns, m, one));
    return result;
}

json case_json(const char* scaling, const std::vector<hierarchy_level>& levels, rank_t num_ranks,
               const study_options& options, const machine& m) {
    const auto layout = layout_of(num_ranks, options);
    json of_levels = json::array();
    for (const auto& level : levels) {
        if (level.starts.back() > 0)
            of_levels.push_back(level_json(level, layout, m, options.has_only_the_studys));
    }
    fmt::print(stderr, "{} scaling, {} ranks\n", scaling, num_ranks);
    return {{"scaling", scaling},
            {"ranks", num_ranks},
            {"regions", layout.regions().num_regions()},
            {"nodes", layout.nodes().num_regions()},
            {"levels", std::move(of_levels)}};
}

json run(const study_options& options) {
    const auto m = load_machine(options.machine_name);
    const auto levels = read_hierarchy(options.folder);
    json cases = json::array();
    for (const rank_t num_ranks : options.ranks)
        cases.push_back(case_json("strong", levels, num_ranks, options, m));
    for (const rank_t kept : options.cuts) {
        std::vector<hierarchy_level> part;
        for (const auto& level : levels) part.push_back(cut(level, options.num_columns, kept));
        cases.push_back(case_json("weak", part, num_parts(part.front()), options, m));
    }
    return {{"schema", "crossdock.study.neighbor/1"},
            {"machine", m.name},
            {"region_size", options.region_size},
            {"regions_per_node", options.regions_per_node},
            {"item_bytes", item_bytes},
            {"cases", std::move(cases)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Counts and simulates the exchanges of a multigrid hierarchy; prints JSON");
    study_options options;
    app.add_option("FOLDER", options.folder, "The recorded hierarchy")->required();
    app.add_option("--ranks", options.ranks, "Strong scaling: the whole on so many ranks")
        ->delimiter(',');
    app.add_option("--cuts", options.cuts,
                   "Weak scaling: so many columns of parts, a rank for each part")
        ->delimiter(',');
    app.add_option("--columns", options.num_columns, "Columns of parts")->capture_default_str();
    app.add_option("--region-size", options.region_size, "Ranks of a region")
        ->capture_default_str();
    app.add_option("--regions-per-node", options.regions_per_node)->capture_default_str();
    app.add_option("--machine", options.machine_name, "A preset or a file")->capture_default_str();
    app.add_flag("--only-the-studys", options.has_only_the_studys,
                 "direct, and three_step with and without deduplication; no choice");
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}
