#include "gather_lists.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock {

namespace {

constexpr count_t no_work = -1;

// Indices for peers; those of one peer stay in the order in which they were added.
struct peer_indices {
    struct index_of_peer {
        rank_t peer;
        count_t index;
    };
    std::vector<index_of_peer> all;

    void add(rank_t peer, count_t index) { all.push_back({peer, index}); }

    neighbor_list list() {
        std::stable_sort(
            all.begin(), all.end(),
            [](const index_of_peer& a, const index_of_peer& b) { return a.peer < b.peer; });
        neighbor_list result;
        std::vector<count_t> indices;
        for (std::size_t i = 0; i < all.size(); ++i) {
            indices.push_back(all[i].index);
            if (i + 1 < all.size() && all[i + 1].peer == all[i].peer) continue;
            result.append(all[i].peer, indices);
            indices.clear();
        }
        return result;
    }
};

// The item of every group in the work array, and of every shared id.
struct work_items {
    std::vector<count_t> of_group;
    std::vector<count_t> of_shared;
};

work_items number_work(rank_t rank, const id_groups& groups, const shared_ids& shared,
                       gather_lists& lists) {
    std::vector<std::size_t> order(shared.ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto key = [&](std::size_t i) {
            const rank_t owner = shared.ids[i].owner;
            return std::pair(owner != rank, owner);
        };
        return key(a) < key(b);
    });
    work_items items{std::vector<count_t>(groups.size(), no_work),
                     std::vector<count_t>(shared.ids.size())};
    for (const auto i : order) {
        if (shared.ids[i].owner == rank) ++lists.num_owned;
        items.of_group[shared.ids[i].group] = items.of_shared[i] = lists.num_work++;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const bool is_local = items.of_group[i] == no_work && groups[i].num_unflagged > 0;
        if (is_local && groups[i].copies.size() > 1) items.of_group[i] = lists.num_work++;
    }
    return items;
}

void append_inputs(place_lists& lists, count_t work, std::span<const count_t> copies) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        (i == 0 ? lists.first : lists.more).append(copies[i], work);
}

void append_results(copy_list& results, count_t work, std::span<const count_t> copies) {
    for (const count_t place : copies) results.append(work, place);
}

// Every holder sends its value to all others; values combine in the order of ranks, into that of
// the lowest. Returns where the result of every shared id is.
std::vector<count_t> connect_holders(rank_t rank, const shared_ids& shared,
                                     const std::vector<count_t>& work, gather_lists& lists) {
    peer_indices sends, receives;
    for (std::size_t i = 0; i < shared.ids.size(); ++i) {
        for (const auto& holder : shared.ids[i].holders) {
            if (holder.rank == rank) continue;
            sends.add(holder.rank, work[i]);
            receives.add(holder.rank, static_cast<count_t>(receives.all.size()));
        }
    }
    auto& p = lists.between_holders;
    p.num_items = lists.num_work;
    p.num_slots = lists.num_other_values = static_cast<count_t>(receives.all.size());
    p.sends = sends.list();
    p.receives = receives.list();
    // Slots are numbered by source.
    std::vector<count_t> value_of(receives.all.size());
    for (std::size_t slot = 0; slot < value_of.size(); ++slot) {
        value_of[static_cast<std::size_t>(p.receives.indices[slot])] =
            lists.num_work + static_cast<count_t>(slot);
        p.receives.indices[slot] = static_cast<count_t>(slot);
    }
    std::vector<count_t> results;
    std::size_t next_value = 0;
    for (std::size_t i = 0; i < shared.ids.size(); ++i) {
        const auto& holders = shared.ids[i].holders;
        for (std::size_t h = 0; h < holders.size(); ++h) {
            const count_t value = holders[h].rank == rank ? work[i] : value_of[next_value++];
            if (h == 0) {
                results.push_back(value);
            } else {
                lists.merge.append(value, results.back());
            }
        }
    }
    return results;
}

}  // namespace

gather_lists::gather_lists(rank_t rank, rank_t num_ranks, count_t num_of_ids,
                           const id_groups& groups, const shared_ids& shared, bool with_holders)
    : num_ids(num_of_ids) {
    auto items = number_work(rank, groups, shared, *this);
    if (groups.has_flags()) own_transposed.emplace();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const count_t work = items.of_group[i];
        if (work == no_work) continue;
        append_inputs(normal, work, groups[i].unflagged());
        append_results(normal.results, work, groups[i].copies);
        if (!own_transposed) continue;
        append_inputs(*own_transposed, work, groups[i].copies);
        append_results(own_transposed->results, work, groups[i].unflagged());
    }

    peer_indices to_all, to_some, from_owners, from_owners_of_some;
    for (std::size_t i = 0; i < shared.ids.size(); ++i) {
        const auto& id = shared.ids[i];
        const count_t work = items.of_shared[i];
        if (id.owner != rank) {
            from_owners.add(id.owner, work - num_owned);
            if (groups[id.group].num_unflagged > 0)
                from_owners_of_some.add(id.owner, work - num_owned);
            continue;
        }
        for (const auto& holder : id.holders) {
            if (holder.rank == rank) continue;
            to_all.add(holder.rank, work);
            if (!holder.is_flagged) to_some.add(holder.rank, work);
        }
    }
    const pattern empty{
        rank, num_ranks, num_owned, static_cast<count_t>(shared.ids.size()) - num_owned, {}, {}};
    to_holders = to_unflagged = between_holders = empty;
    to_holders.sends = to_all.list();
    to_holders.receives = from_owners.list();
    to_unflagged.sends = to_some.list();
    to_unflagged.receives = from_owners_of_some.list();

    if (!with_holders) return;
    const auto results = connect_holders(rank, shared, items.of_shared, *this);
    for (std::size_t i = 0; i < shared.ids.size(); ++i)
        items.of_group[shared.ids[i].group] = results[i];
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (items.of_group[i] != no_work)
            append_results(merged_results, items.of_group[i], groups[i].copies);
}

}  // namespace crossdock
