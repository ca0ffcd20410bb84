#include "placed_grid.hpp"

#include <algorithm>

namespace crossdock {

namespace {

struct item_destination {
    count_t item;
    rank_t destination;

    friend auto operator<=>(const item_destination&, const item_destination&) = default;
};

// Of one item that is sent once to each next hop.
count_t count_branches(const route& r, rank_t source, std::span<const rank_t> destinations) {
    if (destinations.size() == 1) return count_hops(r, source, destinations.front());
    std::vector<rank_t> at(destinations.size(), source);
    std::vector<std::pair<rank_t, rank_t>> hops;
    count_t result = 0;
    for (int stage = 0; stage < r.num_stages(); ++stage) {
        hops.clear();
        for (std::size_t d = 0; d < at.size(); ++d) {
            const rank_t next = r.next_hop(at[d], destinations[d], stage, {});
            if (next != at[d]) hops.emplace_back(at[d], next);
            at[d] = next;
        }
        std::ranges::sort(hops);
        result += std::ranges::unique(hops).begin() - hops.begin();
    }
    return result;
}

std::vector<item_destination> different_destinations(const pattern& p) {
    std::vector<item_destination> result;
    result.reserve(p.sends.indices.size());
    for (std::size_t e = 0; e < p.sends.size(); ++e) {
        if (p.sends.ranks[e] == p.rank) continue;
        for (const count_t item : p.sends[e]) result.push_back({item, p.sends.ranks[e]});
    }
    std::ranges::sort(result);
    const auto repeated = std::ranges::unique(result);
    result.erase(repeated.begin(), repeated.end());
    return result;
}

count_t count_sent_once(const pattern& p, const route& r) {
    const auto pairs = different_destinations(p);
    std::vector<rank_t> destinations;
    destinations.reserve(pairs.size());
    for (const auto& pair : pairs) destinations.push_back(pair.destination);
    std::vector<std::span<const rank_t>> of_items;
    for (std::size_t first = 0, last = 0; first < pairs.size(); first = last) {
        while (last < pairs.size() && pairs[last].item == pairs[first].item) ++last;
        of_items.push_back(std::span(destinations).subspan(first, last - first));
    }
    std::ranges::sort(of_items,
                      [](auto a, auto b) { return std::ranges::lexicographical_compare(a, b); });
    count_t result = 0;
    count_t of_one = 0;
    for (std::size_t i = 0; i < of_items.size(); ++i) {
        if (i == 0 || !std::ranges::equal(of_items[i - 1], of_items[i]))
            of_one = count_branches(r, p.rank, of_items[i]);
        result += of_one;
    }
    return result;
}

count_t count_sent_by_all(std::span<const pattern> patterns, const route& r,
                          const compile_options& options) {
    count_t result = 0;
    for (const auto& p : patterns) result += count_sent(p, r, options);
    return result;
}

}  // namespace

count_t count_hops(const route& r, rank_t source, rank_t destination) {
    count_t result = 0;
    for (int stage = 0; stage < r.num_stages(); ++stage) {
        const rank_t next = r.next_hop(source, destination, stage, {});
        result += next != source;
        source = next;
    }
    return result;
}

std::vector<rank_traffic> traffic_of(const pattern& p) {
    std::vector<rank_traffic> result;
    for (std::size_t e = 0; e < p.sends.size(); ++e) {
        const rank_traffic one{p.rank, p.sends.ranks[e], std::ssize(p.sends[e])};
        if (one.destination != one.source && one.num_items > 0) result.push_back(one);
    }
    return result;
}

count_t count_sent(const pattern& p, const route& r, const compile_options& options) {
    if (options.deduplicate) return count_sent_once(p, r);
    count_t result = 0;
    for (const auto& [source, destination, num_items] : traffic_of(p))
        result += num_items * count_hops(r, source, destination);
    return result;
}

placed_grid::placed_grid(const topology& regions, const grid_route& grid,
                         std::vector<rank_t> place_of_rank)
    : route(grid.name(), regions),
      grid_(grid),
      place_of_rank_(std::move(place_of_rank)),
      rank_at_place_(place_of_rank_.size()) {
    for (std::size_t rank = 0; rank < place_of_rank_.size(); ++rank)
        rank_at_place_[static_cast<std::size_t>(place_of_rank_[rank])] = static_cast<rank_t>(rank);
}

rank_t placed_grid::next_hop(rank_t here, rank_t destination, int stage,
                             const leader_table& leaders) const {
    const auto place_of = [this](rank_t r) { return place_of_rank_[static_cast<std::size_t>(r)]; };
    return rank_at_place_[static_cast<std::size_t>(
        grid_.next_hop(place_of(here), place_of(destination), stage, leaders))];
}

stage_partners placed_grid::partners(rank_t here, int stage) const {
    auto found = grid_.partners(place_of_rank_[static_cast<std::size_t>(here)], stage);
    for (auto* const list : {&found.destinations, &found.sources}) {
        for (auto& place : *list) place = rank_at_place_[static_cast<std::size_t>(place)];
        std::ranges::sort(*list);
    }
    return found;
}

std::unique_ptr<route> place_ranks(const topology& regions, std::span<const pattern> patterns,
                                   const grid_route& r, const compile_options& options) {
    std::vector<rank_traffic> traffic;
    for (const auto& p : patterns) {
        const auto more = traffic_of(p);
        traffic.insert(traffic.end(), more.begin(), more.end());
    }
    auto placed =
        std::make_unique<placed_grid>(regions, r, search_places(regions, r.shape(), traffic));
    if (count_sent_by_all(patterns, *placed, options) < count_sent_by_all(patterns, r, options))
        return placed;
    return nullptr;
}

}  // namespace crossdock
