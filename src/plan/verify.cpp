#include "crossdock/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

// What a position holds: an item of its source.
struct identity {
    rank_t source = -1;
    count_t item = -1;

    friend bool operator==(const identity&, const identity&) = default;
};

using identities = std::vector<identity>;

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
    throw error(errc::invalid_plan, fmt::format(text, std::forward<Values>(values)...));
}

identities own_items(const plan& p) {
    identities result;
    result.reserve(static_cast<std::size_t>(p.num_positions()));
    for (count_t item = 0; item < p.num_items(); ++item) result.push_back({p.rank(), item});
    return result;
}

const outgoing_message& message_to(const plan& sender, std::size_t stage, rank_t receiver) {
    const auto& sends = sender.stages()[stage].sends;
    const auto found =
        std::ranges::lower_bound(sends, receiver, {}, &outgoing_message::destination);
    if (found == sends.end() || found->destination != receiver) {
        refuse("rank {} expects a message from {} in stage {} that is not sent", receiver,
               sender.rank(), stage);
    }
    return *found;
}

void check_sorted(const plan& p, std::size_t stage) {
    const auto& [sends, receives] = p.stages()[stage];
    const auto sent =
        std::ranges::adjacent_find(sends, std::greater_equal(), &outgoing_message::destination);
    if (sent != sends.end())
        refuse("rank {} stage {}: two messages to {}, or not sorted", p.rank(), stage,
               sent[1].destination);
    const auto received =
        std::ranges::adjacent_find(receives, std::greater_equal(), &incoming_message::source);
    if (received != receives.end())
        refuse("rank {} stage {}: two messages from {}, or not sorted", p.rank(), stage,
               received[1].source);
}

void check_received(const plan& sender, std::size_t stage, std::span<const plan> plans) {
    for (const auto& sent : sender.stages()[stage].sends) {
        const auto& receives =
            plans[static_cast<std::size_t>(sent.destination)].stages()[stage].receives;
        const auto found =
            std::ranges::lower_bound(receives, sender.rank(), {}, &incoming_message::source);
        if (found == receives.end() || found->source != sender.rank()) {
            refuse("rank {} sends a message to {} in stage {} that is not received", sender.rank(),
                   sent.destination, stage);
        }
    }
}

void run_stage(std::span<const plan> plans, std::size_t stage, std::vector<identities>& held) {
    for (const auto& p : plans) check_sorted(p, stage);
    for (const auto& p : plans) {
        check_received(p, stage, plans);
        auto& positions = held[static_cast<std::size_t>(p.rank())];
        for (const auto& received : p.stages()[stage].receives) {
            const auto source = static_cast<std::size_t>(received.source);
            const auto& sent = message_to(plans[source], stage, p.rank());
            if (static_cast<count_t>(sent.positions.size()) != received.num_items) {
                refuse("stage {}: rank {} sends {} items to rank {}, which expects {}", stage,
                       source, sent.positions.size(), p.rank(), received.num_items);
            }
            for (const count_t position : sent.positions) {
                positions.push_back(held[source][static_cast<std::size_t>(position)]);
            }
        }
    }
}

// The item every slot must hold; {-1, -1} where the pattern receives nothing.
identities wanted_slots(std::span<const pattern> patterns, const pattern& p) {
    identities wanted(static_cast<std::size_t>(p.num_slots));
    std::unordered_map<rank_t, std::vector<count_t>> items_from;
    for (std::size_t e = 0; e < p.receives.size(); ++e) items_from[p.receives.ranks[e]];
    for (auto& [source, items] : items_from) {
        const auto& sends = patterns[static_cast<std::size_t>(source)].sends;
        for (std::size_t e = 0; e < sends.size(); ++e) {
            if (sends.ranks[e] == p.rank)
                items.insert(items.end(), sends[e].begin(), sends[e].end());
        }
    }
    std::unordered_map<rank_t, std::size_t> next;
    for (std::size_t e = 0; e < p.receives.size(); ++e) {
        const rank_t source = p.receives.ranks[e];
        for (const count_t slot : p.receives[e]) {
            const auto k = next[source]++;
            if (k >= items_from[source].size())
                refuse("rank {} lists fewer items for {} than expected", source, p.rank);
            wanted[static_cast<std::size_t>(slot)] = {source, items_from[source][k]};
        }
    }
    return wanted;
}

void check_deliveries(const plan& p, const identities& held, const identities& wanted) {
    std::vector<bool> is_filled(wanted.size());
    for (const auto& [position, slot] : p.deliveries()) {
        const auto& found = held[static_cast<std::size_t>(position)];
        const auto& expected = wanted[static_cast<std::size_t>(slot)];
        if (expected.source < 0) {
            refuse("rank {} slot {} gets item {} of rank {}, but nothing belongs there", p.rank(),
                   slot, found.item, found.source);
        }
        if (found != expected) {
            refuse("rank {} slot {} gets item {} of rank {}, but needs item {} of rank {}",
                   p.rank(), slot, found.item, found.source, expected.item, expected.source);
        }
        if (is_filled[static_cast<std::size_t>(slot)])
            refuse("rank {} slot {} is filled twice", p.rank(), slot);
        is_filled[static_cast<std::size_t>(slot)] = true;
    }
    for (std::size_t slot = 0; slot < wanted.size(); ++slot) {
        if (wanted[slot].source >= 0 && !is_filled[slot])
            refuse("rank {} slot {} is never filled", p.rank(), slot);
    }
}

}  // namespace

void verify(std::span<const plan> plans, std::span<const pattern> patterns) {
    if (plans.size() != patterns.size()) {
        throw_error(errc::size_mismatch, "there are {} plans for {} patterns; give one for each",
                    plans.size(), patterns.size());
    }
    std::vector<identities> held;
    for (std::size_t p = 0; p < plans.size(); ++p) {
        if (plans[p].rank() != static_cast<rank_t>(p) ||
            plans[p].num_ranks() != static_cast<rank_t>(plans.size())) {
            refuse("plan {} is of rank {} of {}", p, plans[p].rank(), plans[p].num_ranks());
        }
        if (plans[p].num_items() != patterns[p].num_items ||
            plans[p].num_slots() != patterns[p].num_slots) {
            refuse("rank {}: plan and pattern differ in the number of items or slots", p);
        }
        held.push_back(own_items(plans[p]));
    }
    const std::size_t num_stages = plans.empty() ? 0 : plans.front().stages().size();
    for (const auto& p : plans) {
        if (p.stages().size() != num_stages) {
            refuse("rank {} has {} stages, but rank 0 has {}", p.rank(), p.stages().size(),
                   num_stages);
        }
    }
    for (std::size_t stage = 0; stage < num_stages; ++stage) run_stage(plans, stage, held);
    for (std::size_t p = 0; p < plans.size(); ++p) {
        check_deliveries(plans[p], held[p], wanted_slots(patterns, patterns[p]));
    }
}

}  // namespace crossdock
