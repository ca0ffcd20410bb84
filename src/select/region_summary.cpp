#include "region_summary.hpp"

#include <algorithm>

#include "../route/balance.hpp"

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
    words.push_back(static_cast<std::int64_t>(forwarded.size()));
    for (const auto& list : forwarded) append(words, list);
    words.push_back(num_different);
    for (const auto& [alone, together] : stages)
        words.insert(words.end(), {alone.sent, alone.received, together.sent, together.received});
    return words;
}

member_summary member_summary::from_words(std::span<const std::int64_t> words) {
    member_summary told;
    told.sends = take_list(words);
    told.receives = take_list(words);
    told.forwarded.resize(static_cast<std::size_t>(words.front()));
    words = words.subspan(1);
    for (auto& list : told.forwarded) list = take_list(words);
    told.num_different = words.front();
    for (words = words.subspan(1); !words.empty(); words = words.subspan(4))
        told.stages.push_back({{words[0], words[1]}, {words[2], words[3]}});
    return told;
}

void region_side::add(rank_t member, const std::vector<counted_items>& by_region) {
    for (const auto& [region, num_items] : by_region) {
        auto& total = totals_[region];
        total.num_items += num_items;
        total.shares.push_back({member, num_items});
    }
}

void region_side::share_out(const topology& regions, region_t own, rank_t max_leaders) {
    std::vector<count_t> volumes;
    for (const auto& [region, total] : totals_) volumes.push_back(total.num_items);
    const auto locals =
        balance_messages(std::move(volumes), std::min(max_leaders, regions.region_size(own)));
    auto next = locals.begin();
    for (auto& [region, total] : totals_) total.leader = regions.rank_at(own, *next++);
}

void region_side::count_different(const topology& regions, count_t num_items_each) {
    for (auto& [region, total] : totals_) {
        different_items different(num_items_each * regions.region_size(region));
        for (const auto& share : total.shares) different.add(share.num_items);
        total.num_different = different.count();
    }
}

void region_side::add_shares(rank_t leader, std::map<rank_t, count_t>& of_members) const {
    for (const auto& [region, total] : totals_) {
        if (total.leader != leader) continue;
        for (const auto& [member, num_items] : total.shares) {
            if (member != leader) of_members[member] += num_items;
        }
    }
}

void region_summary::add(rank_t member, const member_summary& told) {
    senders_.add(member, told.sends);
    receivers_.add(member, told.receives);
    most_different_ = std::max(most_different_, told.num_different);
    if (!told.forwarded.empty()) told_forwarded_.push_back({member, told.forwarded});
    stages_.resize(told.stages.size());
    for (std::size_t t = 0; t < stages_.size(); ++t) {
        stages_[t].alone += told.stages[t].alone;
        stages_[t].together += told.stages[t].together;
    }
}

void region_summary::take_forwarded(std::size_t number) {
    forwarded_.clear();
    for (const auto& [member, of_candidates] : told_forwarded_) {
        for (const auto& [source, num_items] : of_candidates[number])
            forwarded_.push_back({member, source, num_items});
    }
}

void region_summary::share_out(rank_t max_leaders) {
    const region_t own = regions_.region_of(here_);
    senders_.share_out(regions_, own, max_leaders);
    receivers_.share_out(regions_, own, max_leaders);
}

void region_summary::count_different() { receivers_.count_different(regions_, most_different_); }

}  // namespace crossdock
