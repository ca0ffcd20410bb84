#include "tools/crossdock/pattern_input.hpp"

#include <fmt/format.h>

#include <limits>

#include "crossdock/plan.hpp"
#include "tools/crossdock/memory_limit.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

topology pattern_input::regions() const {
    auto result = topology::from_string(topology_text, num_ranks);
    check_memory(fmt::format("what is kept of each of {} ranks", num_ranks),
                 static_cast<std::size_t>(num_ranks) * (sizeof(pattern) + sizeof(plan)), 0);
    return result;
}

CLI::Option* add_partition(CLI::App& verb, const std::string& file, std::string& partition) {
    auto* const option =
        verb.add_option("--partition", partition,
                        "Who owns which rows: block | metis | metis:entries | random:SEED | FILE; "
                        "default: the .owners file of a pattern, or block");
    verb.parse_complete_callback([&file, &partition, option] {
        if (option->empty()) partition = default_partition(file);
    });
    return option;
}

CLI::Option* add_division(CLI::App& verb, pattern_input& input) {
    verb.add_option("--ranks", input.num_ranks, "Number of ranks")
        ->required()
        ->check(in_range(1, std::numeric_limits<rank_t>::max()));
    verb.add_option("--topology", input.topology_text,
                    "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1")
        ->required();
    return add_partition(verb, input.file, input.partition);
}

std::vector<pattern> patterns_of(const workload& work) {
    std::vector<pattern> patterns;
    for (auto& rank : halos_from_matrix(work.matrix, work.owners))
        patterns.push_back(std::move(rank.exchange));
    return patterns;
}

std::vector<pattern> load_patterns(const pattern_input& input, const topology& regions) {
    return patterns_of(load_workload(input.file, input.partition, regions));
}

std::vector<workload> load_all_levels(const pattern_input& input, const topology& regions) {
    auto levels = load_levels(input.file, input.partition, regions);
    for (const auto& level : levels) {
        if (regions.num_ranks() <= level.matrix.num_rows) continue;
        throw error(errc::size_mismatch,
                    fmt::format("{} ranks are more than the {} rows of {}", regions.num_ranks(),
                                level.matrix.num_rows, input.file));
    }
    return levels;
}

workload load_one_level(const pattern_input& input, const topology& regions) {
    auto levels = load_all_levels(input, regions);
    if (levels.size() == 1) return std::move(levels.front());
    throw error(errc::invalid_argument, fmt::format("{0} has {1} levels; {0}:0 is the first one",
                                                    input.file, levels.size()));
}

}  // namespace crossdock::tool
