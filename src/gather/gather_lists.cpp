#include "gather_lists.hpp"

#include "../plan/sort_by_digits.hpp"

namespace crossdock {

namespace {

// Indices for peers; those of one peer stay in the order in which they were added.
struct peer_indices {
    struct index_of_peer {
        rank_t peer;
        count_t index;
    };
    std::vector<index_of_peer> all;

    void add(rank_t peer, count_t index) { all.push_back({peer, index}); }

    neighbor_list list() {
        neighbor_list result;
        sort_by_digits(all, [](const index_of_peer& one) { return count_t{one.peer}; });
        result.indices.reserve(all.size());
        for (const auto& [peer, index] : all) {
            if (result.ranks.empty() || result.ranks.back() != peer) result.append(peer, {});
            result.indices.push_back(index);
            ++result.offsets.back();
        }
        return result;
    }
};

void append_inputs(place_lists& lists, std::span<const count_t> copies) {
    for (const count_t place : copies)
        (place == copies[0] ? lists.first : lists.more).append(place, copies[0]);
}

void append_results(copy_list& results, count_t first, std::span<const count_t> copies) {
    for (const count_t place : copies) results.append(first, place);
}

// Every holder sends its value to all others, and combines them in the order of ranks.
void connect_holders(rank_t rank, const id_groups& groups, const shared_ids& shared,
                     gather_lists& lists) {
    peer_indices others;
    std::vector<count_t> places;  // of what goes to each of them
    for (const auto& id : shared.ids) {
        for (const auto& holder : shared.holders_of(id)) {
            if (holder.rank == rank) continue;
            others.add(holder.rank, static_cast<count_t>(places.size()));
            places.push_back(groups[id.group].copies[0]);
        }
    }
    auto& p = lists.between_holders;
    p.num_slots = lists.num_other_values = static_cast<count_t>(places.size());
    p.sends = p.receives = others.list();
    // Slots are numbered by source.
    std::vector<count_t> slot_of(places.size());
    for (std::size_t slot = 0; slot < slot_of.size(); ++slot) {
        const auto other = static_cast<std::size_t>(p.receives.indices[slot]);
        slot_of[other] = static_cast<count_t>(slot);
        p.sends.indices[slot] = places[other];
        p.receives.indices[slot] = static_cast<count_t>(slot);
    }
    // In the order of slots, values of one id come by rank, and most are read one after the other.
    struct slot_use {
        copy_list* list;
        count_t to;
    };
    std::vector<slot_use> uses(slot_of.size());
    auto next_slot = slot_of.begin();
    for (const auto& id : shared.ids) {
        const count_t own = groups[id.group].copies[0];
        const auto holders = shared.holders_of(id);
        const bool is_lowest = holders.front().rank == rank;
        const count_t lowest = is_lowest ? own : *next_slot++;
        if (!is_lowest) uses[static_cast<std::size_t>(lowest)] = {&lists.merged, own};
        for (const auto& holder : holders.subspan(1)) {
            if (holder.rank == rank) continue;
            uses[static_cast<std::size_t>(*next_slot++)] = {is_lowest ? &lists.others_after_own
                                                            : holder.rank < rank
                                                                ? &lists.others_before
                                                                : &lists.others_after,
                                                            lowest};
        }
    }
    for (count_t slot = 0; slot < p.num_slots; ++slot) {
        const auto& [list, to] = uses[static_cast<std::size_t>(slot)];
        if (list == &lists.merged) lists.own_value.append(to, slot);
        list->append(slot, to);
    }
}

}  // namespace

gather_lists::gather_lists(rank_t rank, rank_t num_ranks, count_t num_of_ids,
                           const id_groups& groups, const shared_ids& shared, bool with_holders)
    : num_ids(num_of_ids) {
    std::vector<char> is_shared(groups.size());
    for (const auto& id : shared.ids) is_shared[id.group] = 1;
    if (groups.has_flags()) own_transposed.emplace();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto copies = groups[i].copies;
        const auto unflagged = groups[i].unflagged();
        if (!is_shared[i] && (unflagged.empty() || copies.size() == 1)) continue;
        append_inputs(normal, unflagged);
        append_results(normal.results, copies[0], copies);
        if (!own_transposed) continue;
        append_inputs(*own_transposed, copies);
        append_results(own_transposed->results, copies[0], unflagged);
    }

    peer_indices to_all, to_some, from_owners, from_owners_of_some;
    for (const auto& id : shared.ids) {
        const auto group = groups[id.group];
        const count_t place = group.copies[0];
        if (id.owner != rank) {
            from_owners.add(id.owner, place);
            if (shared.has_flagged_holders && group.num_unflagged > 0)
                from_owners_of_some.add(id.owner, place);
            continue;
        }
        for (const auto& holder : shared.holders_of(id)) {
            if (holder.rank == rank) continue;
            to_all.add(holder.rank, place);
            if (shared.has_flagged_holders && !holder.is_flagged) to_some.add(holder.rank, place);
        }
    }
    to_holders = to_unflagged = between_holders = {rank, num_ranks, num_ids, num_ids, {}, {}};
    to_holders.sends = to_all.list();
    to_holders.receives = from_owners.list();
    to_unflagged.sends = to_some.list();
    to_unflagged.receives = from_owners_of_some.list();
    if (with_holders) connect_holders(rank, groups, shared, *this);
}

}  // namespace crossdock
