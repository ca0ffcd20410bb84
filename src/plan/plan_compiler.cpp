#include "crossdock/plan/plan_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock {

// A header is the number of receivers, the receivers, and then for every item a word with its
// source and the number of its targets, and a word for each target with its destination and
// ordinal.

namespace {

// A rank and a number below 2^32 in one word.
std::int64_t pack(rank_t rank, std::uint32_t number) { return (std::int64_t{rank} << 32) | number; }
rank_t packed_rank(std::int64_t word) { return static_cast<rank_t>(word >> 32); }
std::uint32_t packed_number(std::int64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace

void plan_compiler::held_items::append(count_t position, rank_t source,
                                       std::span<const target> item_targets) {
    items.push_back({position, source, targets.size(), item_targets.size()});
    targets.insert(targets.end(), item_targets.begin(), item_targets.end());
}

// The headers of one stage and the messages they announce, one of each per next hop.
class plan_compiler::stage_outbox {
  public:
    void add_receiver(const speaker_agreement::receiver_notice& notice) {
        auto& words = entry_for(notice.sender).header;
        words.push_back(notice.receiver);
        ++words[0];
    }

    void add_item(rank_t next_hop, const held_item& item, std::span<const target> targets) {
        auto& [positions, header] = entry_for(next_hop);
        positions.push_back(item.position);
        header.push_back(pack(item.source, static_cast<std::uint32_t>(targets.size())));
        for (const auto& [destination, ordinal] : targets)
            header.push_back(pack(destination, ordinal));
    }

    // Sorted by rank; a header without items announces no message.
    std::vector<word_message> take(std::vector<outgoing_message>& sends) {
        std::vector<std::pair<rank_t, std::size_t>> order(index_.begin(), index_.end());
        std::sort(order.begin(), order.end());
        std::vector<word_message> outbox;
        outbox.reserve(order.size());
        for (const auto& [peer, i] : order) {
            auto& [positions, header] = entries_[i];
            if (!positions.empty()) sends.push_back({peer, std::move(positions)});
            outbox.push_back({peer, std::move(header)});
        }
        return outbox;
    }

  private:
    struct entry {
        std::vector<count_t> positions;
        std::vector<std::int64_t> header{0};
    };

    entry& entry_for(rank_t peer) {
        if (peer == last_peer_) return entries_[last_index_];
        const auto [found, is_new] = index_.try_emplace(peer, entries_.size());
        if (is_new) entries_.emplace_back();
        last_peer_ = peer;
        last_index_ = found->second;
        return entries_[last_index_];
    }

    std::vector<entry> entries_;
    std::unordered_map<rank_t, std::size_t> index_;
    rank_t last_peer_ = -1;
    std::size_t last_index_ = 0;
};

plan_compiler::plan_compiler(const topology& regions, const pattern& p, const route& r,
                             const compile_options& options)
    : regions_(regions),
      pattern_(p),
      route_(r),
      options_(options),
      agreement_(regions, p.rank),
      num_positions_(p.num_items) {
    plan_.rank = p.rank;
    plan_.num_ranks = p.num_ranks;
    plan_.route_name = r.name();
    plan_.is_deduplicated = options.deduplicate;
    plan_.num_items = p.num_items;
    plan_.num_slots = p.num_slots;
    plan_.stages.resize(static_cast<std::size_t>(r.num_stages()));
    expect_slots();
    hold_own_items();
}

int plan_compiler::num_rounds() const noexcept { return agreement_rounds() + route_.num_stages(); }

void plan_compiler::expect_slots() {
    expected_.reserve(pattern_.receives.size());
    for (std::size_t e = 0; e < pattern_.receives.size(); ++e) {
        auto& slots = expected_[pattern_.receives.ranks[e]].slots;
        const auto more = pattern_.receives[e];
        slots.insert(slots.end(), more.begin(), more.end());
    }
}

void plan_compiler::hold_own_items() {
    struct own_item {
        count_t item;
        target where;
    };
    std::vector<own_item> own;
    own.reserve(pattern_.sends.indices.size());
    std::unordered_map<rank_t, std::uint32_t> next_ordinal;
    for (std::size_t e = 0; e < pattern_.sends.size(); ++e) {
        const rank_t destination = pattern_.sends.ranks[e];
        std::uint32_t& ordinal = next_ordinal[destination];
        checked_cast<std::uint32_t>(ordinal + pattern_.sends[e].size());
        for (const count_t item : pattern_.sends[e])
            own.push_back({item, {destination, ordinal++}});
    }
    std::stable_sort(own.begin(), own.end(),
                     [](const auto& a, const auto& b) { return a.item < b.item; });

    std::vector<target> away;
    for (std::size_t i = 0; i < own.size();) {
        const count_t item = own[i].item;
        away.clear();
        do {
            const auto& [destination, ordinal] = own[i].where;
            if (destination == pattern_.rank) {
                deliver(item, pattern_.rank, ordinal);
            } else {
                away.push_back(own[i].where);
            }
            ++i;
        } while (options_.deduplicate && i < own.size() && own[i].item == item);
        if (!away.empty()) held_.append(item, pattern_.rank, away);
    }
}

std::vector<region_volume> plan_compiler::volumes_by_region() const {
    const region_t own_region = regions_.region_of(pattern_.rank);
    std::unordered_map<region_t, count_t> sums;
    std::vector<region_t> item_regions;
    for (const auto& item : held_.items) {
        item_regions.clear();
        for (const auto& [destination, ordinal] : held_.targets_of(item)) {
            item_regions.push_back(regions_.region_of(destination));
        }
        std::sort(item_regions.begin(), item_regions.end());
        item_regions.erase(std::unique(item_regions.begin(), item_regions.end()),
                           item_regions.end());
        for (const region_t region : item_regions) {
            if (region != own_region) ++sums[region];
        }
    }
    std::vector<region_volume> volumes;
    for (const auto& [region, num_items] : sums) volumes.push_back({region, num_items});
    std::sort(volumes.begin(), volumes.end(), [](auto a, auto b) { return a.region < b.region; });
    return volumes;
}

std::vector<word_message> plan_compiler::send() {
    const int stage = round_ - agreement_rounds();
    if (stage >= 0) return send_stage(stage);
    return stage == -2 ? agreement_.send_volumes(volumes_by_region()) : agreement_.send_senders();
}

void plan_compiler::receive(const std::vector<word_message>& inbox) {
    const int stage = round_++ - agreement_rounds();
    if (stage >= 0) {
        receive_stage(inbox);
    } else if (stage == -2) {
        agreement_.receive_volumes(inbox);
    } else {
        agreement_.receive_senders(inbox);
    }
}

std::vector<word_message> plan_compiler::send_stage(int stage) {
    stage_outbox outbox;
    if (route_.is_balanced() && stage == 0) {
        for (const auto& notice : agreement_.receivers()) outbox.add_receiver(notice);
    }
    struct hop {
        rank_t next;
        target where;
    };
    held_items kept;
    // Many items go to few destinations: the route is asked once for each.
    std::unordered_map<rank_t, rank_t> known_hops;
    const auto next_hop = [&](rank_t destination) {
        const auto [entry, is_new] = known_hops.try_emplace(destination);
        if (is_new) {
            entry->second =
                route_.next_hop(pattern_.rank, destination, stage, agreement_.speakers());
        }
        return entry->second;
    };
    std::vector<hop> hops;
    std::vector<target> together;
    for (const auto& item : held_.items) {
        hops.clear();
        for (const auto& where : held_.targets_of(item)) {
            hops.push_back({next_hop(where.destination), where});
        }
        const auto by_next = [](const auto& a, const auto& b) { return a.next < b.next; };
        if (!std::is_sorted(hops.begin(), hops.end(), by_next)) {
            std::stable_sort(hops.begin(), hops.end(), by_next);
        }
        for (std::size_t i = 0; i < hops.size();) {
            const rank_t next = hops[i].next;
            together.clear();
            for (; i < hops.size() && hops[i].next == next; ++i) together.push_back(hops[i].where);
            if (next == pattern_.rank) {
                kept.append(item.position, item.source, together);
            } else {
                outbox.add_item(next, item, together);
            }
        }
    }
    held_ = std::move(kept);
    return outbox.take(plan_.stages[static_cast<std::size_t>(stage)].sends);
}

void plan_compiler::receive_stage(const std::vector<word_message>& inbox) {
    auto& receives =
        plan_.stages[static_cast<std::size_t>(round_ - 1 - agreement_rounds())].receives;
    std::vector<target> targets;
    for (const auto& [source_of_message, words] : inbox) {
        auto word = words.begin();
        for (auto num_receivers = *word++; num_receivers > 0; --num_receivers) {
            agreement_.receive_receiver(source_of_message, static_cast<rank_t>(*word++));
        }
        const count_t first_position = num_positions_;
        while (word != words.end()) {
            const auto item = *word++;
            targets.resize(packed_number(item));
            for (auto& where : targets) {
                where = {packed_rank(*word), packed_number(*word)};
                ++word;
            }
            receive_item(packed_rank(item), targets);
        }
        if (num_positions_ > first_position) {
            receives.push_back(
                {source_of_message, first_position, num_positions_ - first_position});
        }
    }
}

void plan_compiler::receive_item(rank_t source, std::span<const target> targets) {
    const count_t position = num_positions_++;
    const auto first_away = held_.targets.size();
    for (const auto& where : targets) {
        if (where.destination == pattern_.rank) {
            deliver(position, source, where.ordinal);
        } else {
            held_.targets.push_back(where);
        }
    }
    const auto num_away = held_.targets.size() - first_away;
    if (num_away > 0) held_.items.push_back({position, source, first_away, num_away});
}

void plan_compiler::deliver(count_t position, rank_t source, std::uint32_t ordinal) {
    if (source != last_source_) {
        last_source_ = source;
        last_expected_ = &expected_[source];  // stays valid: map entries do not move
    }
    auto& [slots, num_arrived] = *last_expected_;
    ++num_arrived;
    if (ordinal < slots.size()) plan_.deliveries.push_back({position, slots[ordinal]});
}

void plan_compiler::check_counts() const {
    rank_t least = pattern_.num_ranks;
    for (const auto& [source, state] : expected_) {
        if (state.num_arrived != static_cast<count_t>(state.slots.size()))
            least = std::min(least, source);
    }
    if (least == pattern_.num_ranks) return;
    const auto& [slots, num_arrived] = expected_.at(least);
    throw error(errc::count_mismatch,
                fmt::format("rank {} sends {} items to rank {}, which expects {}", least,
                            num_arrived, pattern_.rank, slots.size()),
                pattern_.rank);
}

plan plan_compiler::finish() {
    check_counts();
    if (!held_.items.empty()) {
        throw error(errc::internal,
                    fmt::format("route {} left an item of rank {} on rank {}", route_.name(),
                                held_.items.front().source, pattern_.rank),
                    pattern_.rank);
    }
    return plan(std::move(plan_));
}

}  // namespace crossdock
