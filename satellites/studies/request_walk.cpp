#include "satellites/studies/request_walk.hpp"

#include <algorithm>

namespace crossdock::bench::studies {

namespace {

std::size_t place_of(rank_t rank, const std::vector<rank_t>& partners) {
    return static_cast<std::size_t>(std::lower_bound(partners.begin(), partners.end(), rank) -
                                    partners.begin());
}

bool is_less(const counted_entry& one, const counted_entry& other) {
    return one.entry < other.entry;
}

// What comes from one rank is sorted.
void merge_sorted_parts(std::vector<counted_entry>& requests) {
    std::vector<std::ptrdiff_t> ends{0};
    for (auto at = requests.begin(); at != requests.end(); ends.push_back(at - requests.begin()))
        at = std::is_sorted_until(at, requests.end(), is_less);
    for (std::size_t step = 1; step + 1 < ends.size(); step *= 2) {
        for (std::size_t k = 0; k + step + 1 < ends.size(); k += 2 * step) {
            std::inplace_merge(requests.begin() + ends[k], requests.begin() + ends[k + step],
                               requests.begin() + ends[std::min(k + 2 * step, ends.size() - 1)],
                               is_less);
        }
    }
}

}  // namespace

request_walk::request_walk(const route& r, const block_partition& owners,
                           const std::vector<std::vector<entry_t>>& requests, bool combines)
    : r_(r), owners_(owners), combines_(combines) {
    for (const auto& of_rank : requests) {
        auto& held = held_.emplace_back();
        held.reserve(of_rank.size());
        for (const entry_t entry : of_rank) held.push_back({entry});
        std::sort(held.begin(), held.end(), is_less);
        combine(held);
        held.shrink_to_fit();
    }
}

// Equal ones become one, or stay together.
void request_walk::combine(requests_t& requests) const {
    merge_sorted_parts(requests);
    auto last = requests.begin();
    for (auto at = requests.begin(); at != requests.end(); ++at) {
        if (at == last) continue;
        if (at->entry == last->entry) {
            last->requests += at->requests;
        } else {
            *++last = *at;
        }
    }
    if (last != requests.end()) requests.erase(last + 1, requests.end());
    if (!combines_) return;
    for (auto& one : requests) one.requests = 1;
}

// Routes that are balanced take their defaults, as in a batch.
void request_walk::pass_on(rank_t rank, rank_stage& counts, std::vector<requests_t>& arrived) {
    const leader_table no_leaders;
    auto& held = held_[static_cast<std::size_t>(rank)];
    auto first = held.begin();
    while (first != held.end()) {
        const rank_t owner = owners_.owner(first->entry);
        const auto end = static_cast<std::uint64_t>(owners_.first(owner + 1));
        const auto last = std::find_if(
            first, held.end(), [end](const counted_entry& one) { return one.entry >= end; });
        const rank_t next = owner == rank ? rank : r_.next_hop(rank, owner, stage_, no_leaders);
        auto& to = arrived[static_cast<std::size_t>(next)];
        to.insert(to.end(), first, last);
        count_t num_requests = 0;
        for (; first != last; ++first) num_requests += first->requests;
        if (next == rank) {
            counts.stayed += num_requests;
        } else {
            counts.sent[place_of(next, counts.partners.destinations)] += num_requests;
        }
    }
    held = {};
}

std::vector<rank_stage> request_walk::next_stage() {
    std::vector<rank_stage> all(held_.size());
    std::vector<requests_t> arrived(held_.size());
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
