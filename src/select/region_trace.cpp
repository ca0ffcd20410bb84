#include "region_trace.hpp"

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
    for (const auto& [region, num_items] : by_region)
        shares_.push_back({region, member, num_items});
}

void region_side::close(const topology& regions, count_t num_items_each) {
    std::ranges::stable_sort(shares_, {}, &member_share::region);
    for (auto next = shares_.begin(); next != shares_.end();) {
        region_total total{next->region};
        total.first_share = static_cast<std::size_t>(next - shares_.begin());
        different_items different(num_items_each * regions.region_size(total.region));
        for (; next != shares_.end() && next->region == total.region; ++next) {
            total.num_items += next->num_items;
            different.add(next->num_items);
            ++total.num_shares;
        }
        total.num_different = different.count();
        totals_.push_back(total);
    }
}

void region_side::share_out(const topology& regions, region_t own, rank_t max_leaders) {
    std::vector<count_t> volumes;
    for (const auto& total : totals_) volumes.push_back(total.num_items);
    const auto locals =
        balance_messages(std::move(volumes), std::min(max_leaders, regions.region_size(own)));
    auto next = locals.begin();
    for (auto& total : totals_) total.leader = regions.rank_at(own, *next++);
}

rank_t region_side::leader_for(region_t other) const {
    return std::ranges::lower_bound(totals_, other, {}, &region_total::region)->leader;
}

void region_side::add_shares(rank_t leader, std::map<rank_t, count_t>& of_members) const {
    for (const auto& total : totals_) {
        if (total.leader != leader) continue;
        for (const auto& share : shares(total)) {
            if (share.member != leader) of_members[share.member] += share.num_items;
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

void region_summary::close() {
    senders_.close(regions_, most_different_);
    receivers_.close(regions_, most_different_);
}

namespace {

// Items to or from each rank.
using items_by_rank = std::map<rank_t, count_t>;

// One message with each of them.
void add_sends(const estimate_frame& frame, int stage, const items_by_rank& to, stage_cost& loads) {
    for (const auto& [rank, num_items] : to) loads.add_send(stage, frame.level_to(rank), num_items);
}
void add_receives(const estimate_frame& frame, int stage, const items_by_rank& from,
                  stage_cost& loads) {
    for (const auto& [rank, num_items] : from)
        loads.add_receive(stage, frame.level_to(rank), num_items);
}

// The first stage of `three_step`: to the members that speak, and directly to others of the region.
void bring_to_leaders(const estimate_frame& frame, const region_summary& region,
                      stage_cost& loads) {
    const auto& regions = frame.regions();
    const region_t own = regions.region_of(frame.here());
    const auto next_of = [&](rank_t destination) {
        const region_t other = regions.region_of(destination);
        return other == own ? destination : region.senders().leader_for(other);
    };
    items_by_rank to;
    for (const auto& [next, num_items] : frame.sends.by_key_of(next_of)) {
        if (next != frame.here()) to[next] = num_items;
    }
    items_by_rank from;
    for (std::size_t e = 0; e < frame.receives.ranks().size(); ++e) {
        const rank_t source = frame.receives.ranks()[e];
        if (regions.region_of(source) != own) continue;
        loads.add_deliveries(0, frame.receives.num_items(e));
        if (source != frame.here()) from[source] += frame.receives.num_items(e);
    }
    region.senders().add_shares(frame.here(), from);
    add_sends(frame, 0, to, loads);
    add_receives(frame, 0, from, loads);
}

// How far another region is.
locality_level level_to_region(const estimate_frame& frame, region_t other) {
    return frame.level_to(frame.regions().rank_at(other, 0));
}

// The second: one message for each region that the rank speaks with.
void cross(const estimate_frame& frame, const region_summary& region, stage_cost& loads) {
    for (const auto& total : region.senders().totals()) {
        if (total.leader == frame.here())
            loads.add_send(1, level_to_region(frame, total.region), total.num_items);
    }
    for (const auto& total : region.receivers().totals()) {
        if (total.leader == frame.here())
            loads.add_receive(1, level_to_region(frame, total.region), total.num_different);
    }
}

// The third: to the members that the items are for.
void share_out(const estimate_frame& frame, const region_summary& region, stage_cost& loads) {
    items_by_rank to;
    region.receivers().add_shares(frame.here(), to);
    items_by_rank from;
    for (const auto& total : region.receivers().totals()) {
        for (const auto& [other, member, num_items] : region.receivers().shares(total)) {
            if (member != frame.here()) continue;
            loads.add_deliveries(total.leader == frame.here() ? 1 : 2, num_items);
            if (total.leader == frame.here()) continue;
            from[total.leader] += num_items;
            loads.await(1, level_to_region(frame, other), total.num_different);
        }
    }
    add_sends(frame, 2, to, loads);
    add_receives(frame, 2, from, loads);
}

void add_arriving(const region_summary& region, node_items& across) {
    for (const auto& total : region.receivers().totals()) across.received += total.num_different;
}

}  // namespace

member_summary summarize_member(const estimate_frame& frame) {
    const auto& regions = frame.regions();
    const region_t own = regions.region_of(frame.here());
    member_summary told;
    for (const auto& [region, num_items] :
         frame.sends.by_key_of([&](rank_t rank) { return regions.region_of(rank); })) {
        if (region != own) told.sends.push_back({region, num_items});
    }
    told.num_different = frame.sends.num_different();
    std::map<region_t, count_t> received;
    for (std::size_t e = 0; e < frame.receives.ranks().size(); ++e) {
        const region_t region = regions.region_of(frame.receives.ranks()[e]);
        if (region != own) received[region] += frame.receives.num_items(e);
    }
    for (const auto& [region, num_items] : received) told.receives.push_back({region, num_items});
    return told;
}

receives_by_rank receives_by_counterpart(const estimate_frame& frame, const route& r) {
    const leader_table none;
    receives_by_rank receives;
    for (std::size_t e = 0; e < frame.receives.ranks().size(); ++e) {
        const rank_t source = frame.receives.ranks()[e];
        receives[r.next_hop(source, frame.here(), 0, none)].push_back(
            {source, frame.receives.num_items(e)});
    }
    return receives;
}

void follow_counterparts(const estimate_frame& frame, const region_summary& region,
                         const receives_by_rank& by_counterpart, stage_cost& loads,
                         node_items& across) {
    std::map<rank_t, different_items> asked;
    const auto cross_from = [&](rank_t source, count_t num_items) {
        asked.try_emplace(source, region.items_of_a_rank()).first->second.add(num_items);
    };
    items_by_rank sent_on;
    items_by_rank received;
    for (const auto& [counterpart, items] : by_counterpart) {
        for (const auto& [source, num_items] : items) {
            loads.add_deliveries(counterpart == frame.here() ? 0 : 1, num_items);
            if (counterpart != frame.here()) {
                received[counterpart] += num_items;
            } else if (source != frame.here()) {
                cross_from(source, num_items);
            }
        }
    }
    // All that a counterpart receives for others is for members of its region.
    for (const auto& [member, source, num_items] : region.forwarded()) {
        cross_from(source, num_items);
        sent_on[member] += num_items;
    }
    items_by_rank crossing;
    for (const auto& [source, items] : asked) crossing[source] = items.count();
    add_receives(frame, 0, crossing, loads);
    add_sends(frame, 1, sent_on, loads);
    add_receives(frame, 1, received, loads);
    add_arriving(region, across);
}

void follow_leaders(const estimate_frame& frame, const region_summary& region, stage_cost& loads,
                    node_items& across) {
    bring_to_leaders(frame, region, loads);
    cross(frame, region, loads);
    share_out(frame, region, loads);
    for (const auto& total : region.senders().totals()) across.sent += total.num_items;
    add_arriving(region, across);
}

}  // namespace crossdock
