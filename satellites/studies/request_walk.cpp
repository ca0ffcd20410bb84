#include "satellites/studies/request_walk.hpp"

#include <algorithm>

namespace crossdock::bench::studies {

namespace {

std::size_t place_of(rank_t rank, const std::vector<rank_t>& partners) {
    return static_cast<std::size_t>(std::lower_bound(partners.begin(), partners.end(), rank) -
                                    partners.begin());
}

}  // namespace

request_walk::request_walk(const route& r, const block_partition& owners,
                           std::vector<std::vector<entry_t>> requests, bool combines)
    : r_(r), owners_(owners), held_(std::move(requests)), combines_(combines) {
    for (auto& one : held_) combine(one);
}

// Requests of one owner stand together in any case.
void request_walk::combine(std::vector<entry_t>& requests) const {
    if (!std::is_sorted(requests.begin(), requests.end()))
        std::sort(requests.begin(), requests.end());
    if (combines_) requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
}

count_t request_walk::num_held(rank_t rank) const {
    return static_cast<count_t>(held_[static_cast<std::size_t>(rank)].size());
}

// Routes that are balanced take their defaults, as in a batch.
void request_walk::pass_on(rank_t rank, rank_stage& counts,
                           std::vector<std::vector<entry_t>>& arrived) {
    const leader_table no_leaders;
    auto& held = held_[static_cast<std::size_t>(rank)];
    auto first = held.begin();
    while (first != held.end()) {
        const rank_t owner = owners_.owner(*first);
        const auto end = static_cast<std::uint64_t>(owners_.first(owner + 1));
        const auto last = std::lower_bound(first, held.end(), end);
        const rank_t next = owner == rank ? rank : r_.next_hop(rank, owner, stage_, no_leaders);
        auto& to = arrived[static_cast<std::size_t>(next)];
        to.insert(to.end(), first, last);
        if (next == rank) {
            counts.stayed += last - first;
        } else {
            counts.sent[place_of(next, counts.partners.destinations)] += last - first;
        }
        first = last;
    }
    held = {};
}

std::vector<rank_stage> request_walk::next_stage() {
    std::vector<rank_stage> all(held_.size());
    std::vector<std::vector<entry_t>> arrived(held_.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        auto& counts = all[rank];
        counts.partners = r_.partners(static_cast<rank_t>(rank), stage_);
        counts.sent.resize(counts.partners.destinations.size());
        counts.received.resize(counts.partners.sources.size());
        pass_on(static_cast<rank_t>(rank), counts, arrived);
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const auto& from = all[rank];
        for (std::size_t d = 0; d < from.sent.size(); ++d) {
            auto& to = all[static_cast<std::size_t>(from.partners.destinations[d])];
            to.received[place_of(static_cast<rank_t>(rank), to.partners.sources)] = from.sent[d];
        }
    }
    for (auto& one : arrived) combine(one);
    held_ = std::move(arrived);
    ++stage_;
    return all;
}

}  // namespace crossdock::bench::studies
