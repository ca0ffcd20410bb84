#include "peers.hpp"

#include <algorithm>
#include <set>

namespace crossdock {

namespace {

constexpr int max_burst = 16;

}  // namespace

std::vector<rank_t> peers_of(const rank_layout& layout, rank_t rank, locality_level level,
                             int max_peers) {
    const auto& nodes = layout.nodes();
    const bool is_near = level != locality_level::network;
    const region_t node = nodes.region_of(rank);
    const rank_t size = is_near ? nodes.region_size(node) : layout.num_ranks();
    const rank_t own = is_near ? nodes.local_rank(rank) : rank;
    std::vector<rank_t> peers;
    for (rank_t k = 1; k < size && static_cast<int>(peers.size()) < max_peers; ++k) {
        const rank_t place = static_cast<rank_t>((std::int64_t{own} + k) % size);
        const rank_t peer = is_near ? nodes.rank_at(node, place) : place;
        if (layout.level_of(rank, peer) == level) peers.push_back(peer);
    }
    return peers;
}

std::optional<rank_pair> find_pair(const rank_layout& layout, locality_level level) {
    for (rank_t rank = 0; rank < layout.num_ranks(); ++rank) {
        const auto peers = peers_of(layout, rank, level, 1);
        if (!peers.empty()) return rank_pair{rank, peers.front()};
    }
    return std::nullopt;
}

std::vector<locality_level> levels_with_peers(const rank_layout& layout) {
    std::vector<locality_level> levels;
    for (const auto level :
         {locality_level::region, locality_level::node, locality_level::network}) {
        if (find_pair(layout, level)) levels.push_back(level);
    }
    return levels;
}

int count_ranks_with_peers(const rank_layout& layout, locality_level level) {
    int count = 0;
    for (rank_t rank = 0; rank < layout.num_ranks(); ++rank)
        count += !peers_of(layout, rank, level, 1).empty();
    return count;
}

std::vector<rank_t> burst_of(const rank_layout& layout, rank_t rank, locality_level level,
                             int num_messages) {
    const auto peers = peers_of(layout, rank, level, num_messages);
    std::vector<rank_t> destinations;
    for (int k = 0; k < num_messages && !peers.empty(); ++k)
        destinations.push_back(peers[static_cast<std::size_t>(k) % peers.size()]);
    return destinations;
}

std::vector<double> burst_counts(const rank_layout& layout, locality_level level) {
    constexpr std::size_t several = 4;
    const auto pair = find_pair(layout, level);
    const auto num_peers = peers_of(layout, pair->first, level, max_burst).size();
    const std::size_t most = num_peers < several ? max_burst : num_peers;
    std::set<double> counts;
    for (std::size_t k = 1; k <= 8; ++k)
        counts.insert(static_cast<double>(std::max<std::size_t>(most * k / 8, 1)));
    return {counts.begin(), counts.end()};
}

}  // namespace crossdock
