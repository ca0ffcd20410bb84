#include "tools/crossdock/machine_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/crossdock/output.hpp"

namespace crossdock::tool {

namespace {

// What messages of a level are called; those of a rank to itself cost what copies cost.
constexpr std::array<const char*, num_locality_levels> level_texts{
    "", "inside regions", "between regions of a node", "between nodes"};

bool has_messages(const rank_layout& layout, locality_level level) {
    const auto num_regions = layout.regions().num_regions();
    const auto num_nodes = layout.nodes().num_regions();
    switch (level) {
        case locality_level::region: return num_regions < layout.num_ranks();
        case locality_level::node: return num_nodes < num_regions;
        case locality_level::network: return num_nodes > 1;
        default: return false;
    }
}

}  // namespace

std::vector<std::string> assumed_levels(const rank_layout& layout, const machine& m) {
    std::vector<std::string> levels;
    for (std::size_t level = 0; level < num_locality_levels; ++level) {
        if (!has_messages(layout, static_cast<locality_level>(level))) continue;
        const std::string path = fmt::format("levels.{}.eager", locality_level_names[level]);
        if (const auto* source = source_of(m, path); source && source->starts_with("assumed"))
            levels.emplace_back(level_texts[level]);
    }
    return levels;
}

machine machine_input::load(const rank_layout& layout) const {
    auto found = load_machine(machine_name);
    const auto is_it = [&](const machine& preset) { return preset.name == machine_name; };
    if (std::ranges::any_of(machine_presets(), is_it)) return found;
    if (const auto levels = assumed_levels(layout, found); !levels.empty()) {
        warn(
            fmt::format("the machine {} was not measured for messages {}: these numbers are "
                        "assumed, as the file says under \"sources\"",
                        found.name, fmt::join(levels, " and ")));
    }
    return found;
}

std::string machine_input::text(const machine& m) const {
    return is_chosen ? m.name : m.name + " (assumed; name yours by --machine)";
}

estimate_options estimate_of(const rank_layout& layout, count_t item_bytes, bool may_share_memory,
                             bool deduplicate) {
    const auto& nodes = layout.nodes();
    const bool shares_memory = may_share_memory && nodes.num_regions() < nodes.num_ranks();
    return {.travel = {item_bytes, shares_memory}, .deduplicate = deduplicate};
}

void add_machine(CLI::App& verb, machine_input& input) {
    verb.add_option("--nodes", input.nodes_text,
                    "Nodes, written as for --topology; default: the regions");
    verb.add_option("--machine", input.machine_name,
                    "A machine: a preset, or a file that `calibrate` wrote")
        ->capture_default_str()
        ->each([&input](const std::string&) { input.is_chosen = true; });
}

}  // namespace crossdock::tool
