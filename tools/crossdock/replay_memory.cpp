#include "tools/crossdock/replay_memory.hpp"

#include <algorithm>

#include "crossdock/simulate.hpp"

namespace crossdock::tool {

std::size_t replay_bytes(const std::vector<pattern>& patterns, const route& way) {
    constexpr std::size_t bytes_per_hop = 48;       // of an item in plans and in their making
    constexpr std::size_t bytes_per_message = 160;  // both its ends
    std::size_t num_pairs = 0;
    std::size_t num_neighbors = 0;
    for (const auto& p : patterns) {
        num_pairs += p.sends.indices.size();
        num_neighbors += p.sends.ranks.size();
    }
    const auto num_hops = static_cast<std::size_t>(way.num_stages());
    const auto num_ranks = static_cast<rank_t>(patterns.size());
    const auto most_messages =
        patterns.size() * static_cast<std::size_t>(way.max_messages_per_rank());
    const auto num_messages = std::min(num_neighbors * num_hops, most_messages);
    return num_pairs * num_hops * bytes_per_hop + num_messages * bytes_per_message +
           simulation_bytes(num_ranks, 2 * num_messages + patterns.size());
}

}  // namespace crossdock::tool
