#include "region_summary.hpp"

#include "crossdock/route/balance.hpp"
#include "item_groups.hpp"
#include "scaled.hpp"

namespace crossdock {

namespace {

void append(std::vector<std::int64_t>& words, const std::vector<counted_items>& list) {
    words.push_back(static_cast<std::int64_t>(list.size()));
    for (const auto& [peer, num_items] : list) words.insert(words.end(), {peer, num_items});
}

std::vector<counted_items> take_list(std::span<const std::int64_t>& words) {
    std::vector<counted_items> list(static_cast<std::size_t>(words.front()));
    words = words.subspan(1);
    for (auto& one : list) {
        one = {checked_cast<int>(words[0]), words[1]};
        words = words.subspan(2);
    }
    return list;
}

}  // namespace

std::vector<std::int64_t> member_summary::to_words() const {
    std::vector<std::int64_t> words;
    append(words, sends);
    append(words, receives);
    words.push_back(num_asked);
    for (const auto& stage : stages) {
        for (const auto& [num_items, num_network_items, num_ranks] : {stage.sent, stage.received})
            words.insert(words.end(), {num_items, num_network_items, num_ranks});
    }
    return words;
}

member_summary member_summary::from_words(std::span<const std::int64_t> words) {
    member_summary told;
    told.sends = take_list(words);
    told.receives = take_list(words);
    told.num_asked = words.front();
    for (words = words.subspan(1); !words.empty(); words = words.subspan(6))
        told.stages.push_back({{words[0], words[1], words[2]}, {words[3], words[4], words[5]}});
    return told;
}

member_summary summarize_member(const topology& regions, const pattern& p, bool deduplicate) {
    member_summary told;
    const region_t own = regions.region_of(p.rank);
    const auto region_of = [&](rank_t rank) { return regions.region_of(rank); };
    for (const auto& [region, num_items] :
         group_items(p.sends, p.num_items, deduplicate, region_of)) {
        if (region != own) told.sends.push_back({region, num_items});
    }
    for (std::size_t e = 0; e < p.sends.size(); ++e) {
        if (regions.region_of(p.sends.ranks[e]) != own)
            told.num_asked += static_cast<count_t>(p.sends[e].size());
    }
    for (std::size_t e = 0; e < p.receives.size(); ++e) {
        const auto num_items = static_cast<count_t>(p.receives[e].size());
        if (num_items > 0) told.receives.push_back({p.receives.ranks[e], num_items});
    }
    return told;
}

void region_side::add(rank_t member, region_t other, count_t num_items) {
    auto& total = totals_[other];
    total.num_items += num_items;
    total.shares.push_back({member, num_items});
}

void region_side::share_out(const topology& regions, region_t own) {
    std::vector<count_t> volumes;
    for (const auto& [region, total] : totals_) volumes.push_back(total.num_items);
    const auto locals = balance(volumes, regions.region_size(own));
    auto next = locals.begin();
    for (auto& [region, total] : totals_) total.speaker = regions.rank_at(own, *next++);
}

void region_side::add_shares(rank_t speaker, std::map<rank_t, count_t>& of_members) const {
    for (const auto& [region, total] : totals_) {
        if (total.speaker != speaker) continue;
        for (const auto& [member, num_items] : total.shares) {
            if (member != speaker) of_members[member] += num_items;
        }
    }
}

void region_summary::add(rank_t member, const member_summary& told) {
    for (const auto& [region, num_items] : told.sends) {
        senders_.add(member, region, num_items);
        num_sent_ += num_items;
    }
    num_asked_ += told.num_asked;
    for (const auto& [source, num_items] : told.receives) {
        receives_.push_back({member, source, num_items});
        const region_t region = regions_.region_of(source);
        if (region != own_) receivers_.add(member, region, num_items);
    }
    stages_.push_back(told.stages);
}

void region_summary::finish() {
    senders_.share_out(regions_, own_);
    receivers_.share_out(regions_, own_);
}

count_t region_summary::arriving(count_t num_asked) const noexcept {
    if (num_asked_ == 0) return num_asked;
    return scaled(num_asked, static_cast<double>(num_sent_) / static_cast<double>(num_asked_));
}

}  // namespace crossdock
