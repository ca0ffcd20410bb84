#include "tools/crossdock/cluster_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/crossdock/machine_input.hpp"
#include "tools/crossdock/pattern_input.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

std::string cluster_estimate(const std::string& file, const std::string& partition,
                             count_t item_bytes) {
    // Other partitions, and recorded hierarchies, are of as many ranks as they were made for.
    if (partition != "block" || is_hierarchy(file)) return {};
    pattern_input input;
    input.file = file;
    input.num_ranks = 64;
    input.topology_text = "4x16";
    const auto regions = input.regions();
    std::vector<pattern> patterns;
    try {
        patterns = load_patterns(input, regions);
    } catch (const error& fault) {
        if (fault.code() == errc::size_mismatch) return {};
        throw;
    }
    const auto machine = default_machine();
    const rank_layout layout(regions);
    const auto how = estimate_of(layout, item_bytes, true, true);
    const auto choice = choose_route(layout, patterns, machine, how);
    const auto& best = choice.candidates.front();
    if (best.seconds == 0) return {};
    const auto direct = std::ranges::find(choice.candidates, "direct", &candidate_price::route);
    const auto found = best.route == "direct"
                           ? std::string("direct, which no other route beats")
                           : fmt::format("{}, {:.2f} times as fast as direct", best.route,
                                         direct->seconds / best.seconds);
    return fmt::format(
        "estimated on 4 nodes of 16: {} (machine {}, topology 4x16, items of {} bytes, ranks of a "
        "node share memory)",
        found, machine.name, item_bytes);
}

}  // namespace crossdock::tool
