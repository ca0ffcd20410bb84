#include "plan_compiler.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "../base/index_check.hpp"
#include "../base/throw_error.hpp"
#include "sort_by_digits.hpp"

namespace crossdock {

// Where the last destinations led in this stage; a rank has few of them, and items many.
class plan_compiler::known_hops {
  public:
    struct hop {
        rank_t destination = -1;
        bool stays = false;
        std::size_t place = 0;  // in the headers, if it does not stay
    };

    // @param num_lookups  how many to expect
    explicit known_hops(std::size_t num_lookups)
        : hops_(std::bit_ceil(std::clamp<std::size_t>(num_lookups, 1, most_hops))) {}

    template <class Find>
    const hop& find(rank_t destination, Find&& find_hop) {
        auto& known = hops_[static_cast<std::size_t>(destination) & (hops_.size() - 1)];
        if (known.destination != destination) known = find_hop(destination);
        return known;
    }

  private:
    static constexpr std::size_t most_hops = 1024;

    std::vector<hop> hops_;
};

plan_compiler::plan_compiler(const topology& regions, const pattern& p, const route& r,
                             const compile_options& options)
    : regions_(regions),
      pattern_(p),
      route_(r),
      options_(options),
      agreement_(regions, p.rank, route_.max_leaders()),
      num_positions_(p.num_items),
      sends_lists_(sends_lists()) {
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
        const auto more = pattern_.receives[e];
        const auto [entry, is_new] = expected_.try_emplace(pattern_.receives.ranks[e]);
        auto& [slots, joined, num_arrived] = entry->second;
        if (is_new) {
            slots = more;
            continue;
        }
        if (joined.empty()) joined.assign(slots.begin(), slots.end());
        joined.insert(joined.end(), more.begin(), more.end());
        slots = joined;
    }
    plan_.deliveries.reserve(pattern_.receives.indices.size());
}

// Whether each list of items for another rank is a message: it goes straight there, and sorted.
bool plan_compiler::sends_lists() const {
    if (route_.num_stages() != 1 || route_.is_balanced()) return false;
    const auto& sends = pattern_.sends;
    if (std::ranges::adjacent_find(sends.ranks, std::ranges::greater_equal()) != sends.ranks.end())
        return false;
    for (std::size_t e = 0; e < sends.size(); ++e) {
        const auto list = sends[e];
        if (!ascends(list)) return false;
        if (list.size() > std::numeric_limits<std::uint32_t>::max()) return false;
    }
    return true;
}

// Those for this rank or those for others: by item, and for one item as the pattern lists them.
std::vector<plan_compiler::own_item> plan_compiler::own_items(bool for_itself) const {
    const auto& sends = pattern_.sends;
    std::vector<own_item> own;
    if (!for_itself) own.reserve(sends.indices.size());
    std::unordered_map<rank_t, std::uint32_t> next_ordinal;
    next_ordinal.reserve(sends.size());
    for (std::size_t e = 0; e < sends.size(); ++e) {
        const rank_t destination = sends.ranks[e];
        if ((destination == pattern_.rank) != for_itself) continue;
        std::uint32_t& next = next_ordinal[destination];
        std::uint32_t ordinal = next;
        next = checked_cast<std::uint32_t>(ordinal + sends[e].size());
        for (const count_t item : sends[e]) own.push_back({item, destination, ordinal++});
    }
    sort_by_digits(own, [](const own_item& one) { return one.item; });
    return own;
}

void plan_compiler::hold_own_items() {
    for (const auto& [item, destination, ordinal] : own_items(true)) {
        const run_target here{destination, ordinal};
        deliver({destination, 1, item}, {&here, 1});
    }
    if (sends_lists_) return;
    // Items for the same destinations, the next of each, make a run.
    const auto is_next = [](const own_item& a, const own_item& b) {
        return a.destination == b.destination && a.ordinal + 1 == b.ordinal;
    };
    const auto own = own_items(false);
    own_positions_.reserve(own.size());
    std::span<const own_item> before;
    for (std::span<const own_item> rest(own); !rest.empty();) {
        std::size_t num_targets = 1;
        while (num_targets < rest.size() && rest[num_targets].item == rest[0].item) ++num_targets;
        const auto targets = rest.first(num_targets);
        rest = rest.subspan(num_targets);
        const auto place = static_cast<count_t>(own_positions_.size());
        own_positions_.push_back(targets[0].item);
        if (std::ranges::equal(before, targets, is_next)) {
            held_.extend_last(1);
        } else {
            for (const auto& [item, destination, ordinal] : targets)
                held_.add_target({destination, ordinal});
            held_.close({pattern_.rank, 1, place});
        }
        before = targets;
    }
}

// Own items may lie anywhere and are listed, with stride 0; those that came lie in a row.
std::span<const count_t> plan_compiler::own_positions_of(const item_run& run) const {
    if (run.stride != 0) return {};
    return std::span(own_positions_)
        .subspan(static_cast<std::size_t>(run.first_position),
                 static_cast<std::size_t>(run.num_items));
}

std::vector<region_volume> plan_compiler::volumes_by_region() const {
    const region_t own_region = regions_.region_of(pattern_.rank);
    std::unordered_map<region_t, count_t> sums;
    std::vector<region_t> of_run;
    for (const auto& run : held_.runs()) {
        of_run.clear();
        for (const auto& target : held_.targets_of(run)) {
            of_run.push_back(regions_.region_of(target.destination));
        }
        if (options_.deduplicate) {
            std::sort(of_run.begin(), of_run.end());
            of_run.erase(std::unique(of_run.begin(), of_run.end()), of_run.end());
        }
        for (const region_t region : of_run) {
            if (region != own_region) sums[region] += run.num_items;
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
    stage_headers headers(options_.deduplicate);
    if (route_.is_balanced() && stage == 0) {
        for (const auto& [sender, receiver] : agreement_.receivers())
            headers.add_receiver(headers.place_of(sender), receiver);
    }
    if (sends_lists_) {
        for (std::size_t e = 0; e < pattern_.sends.size(); ++e) {
            const rank_t destination = pattern_.sends.ranks[e];
            if (destination != pattern_.rank)
                headers.send_list(pattern_.rank, destination, pattern_.sends[e]);
        }
    }
    known_hops hops(held_.num_targets());
    const auto find_hop = [&](rank_t destination) -> known_hops::hop {
        const rank_t next =
            route_.next_hop(pattern_.rank, destination, stage, agreement_.leaders());
        if (next == pattern_.rank) return {destination, true, 0};
        return {destination, false, headers.place_of(next)};
    };
    item_runs kept;
    for (const auto& run : held_.runs()) {
        for (const auto& target : held_.targets_of(run)) {
            const auto& hop = hops.find(target.destination, find_hop);
            if (hop.stays) {
                kept.add_target(target);
            } else {
                headers.add_target(hop.place, target);
            }
        }
        headers.send_run(run, own_positions_of(run));
        kept.close(run);
    }
    held_ = std::move(kept);
    return headers.take(plan_.stages[static_cast<std::size_t>(stage)].sends,
                        plan_.item_destinations);
}

void plan_compiler::receive_stage(const std::vector<word_message>& inbox) {
    const auto stage = static_cast<std::size_t>(round_ - 1 - agreement_rounds());
    auto& receives = plan_.stages[stage].receives;
    for (const auto& [peer, words] : inbox) {
        header_reader header(words);
        for (auto num_receivers = header.word(); num_receivers > 0; --num_receivers)
            agreement_.receive_receiver(peer, static_cast<rank_t>(header.word()));
        const count_t first_position = num_positions_;
        while (!header.is_at_end()) receive_run(header.run(), header);
        if (num_positions_ > first_position)
            receives.push_back({peer, first_position, num_positions_ - first_position});
    }
}

void plan_compiler::receive_run(item_run run, header_reader& header) {
    run.first_position = num_positions_;
    run.stride = options_.deduplicate ? 1 : static_cast<count_t>(run.num_targets);
    num_positions_ += run.num_items * run.stride;
    arrived_.clear();
    for (std::size_t t = 0; t < run.num_targets; ++t) {
        auto target = header.target();
        target.offset = options_.deduplicate ? 0 : static_cast<std::uint32_t>(t);
        if (target.destination == pattern_.rank) {
            arrived_.push_back(target);
        } else {
            held_.add_target(target);
        }
    }
    deliver(run, arrived_);
    held_.close(run);
}

void plan_compiler::deliver(const item_run& run, std::span<const run_target> targets) {
    if (targets.empty()) return;
    auto& [slots, joined, num_arrived] = expected_[run.source];
    num_arrived += run.num_items * static_cast<count_t>(targets.size());
    for (count_t k = 0; k < run.num_items; ++k) {
        const count_t position = run.first_position + k * run.stride;
        for (const auto& target : targets) {
            const auto ordinal = target.ordinal + static_cast<std::size_t>(k);
            if (ordinal < slots.size())
                plan_.deliveries.push_back({position + target.offset, slots[ordinal]});
        }
    }
}

void plan_compiler::check_counts() const {
    rank_t least = pattern_.num_ranks;
    for (const auto& [source, state] : expected_) {
        if (state.num_arrived != static_cast<count_t>(state.slots.size()))
            least = std::min(least, source);
    }
    if (least == pattern_.num_ranks) return;
    const auto& [slots, joined, num_arrived] = expected_.at(least);
    throw_error_of(pattern_.rank, errc::count_mismatch,
                   "rank {} sends {} items to rank {}, which expects {}; give both "
                   "patterns the same number",
                   least, num_arrived, pattern_.rank, slots.size());
}

plan plan_compiler::finish() {
    check_counts();
    if (!held_.is_empty()) {
        throw_error_of(pattern_.rank, errc::internal, "route {} left an item of rank {} on rank {}",
                       route_.name(), held_.runs().front().source, pattern_.rank);
    }
    return plan(std::move(plan_));
}

}  // namespace crossdock
