/// @file
/// @brief How many items go the same way.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/pattern/pattern.hpp"

namespace crossdock {

/// @brief A step of an item in a stage.
struct hop {
    rank_t from;
    rank_t to;

    friend auto operator<=>(const hop&, const hop&) = default;
};

template <class Key>
struct item_group {
    Key key;
    count_t num_items;
};

/// @brief The entries of a list by key, ascending, and the items of each group that has any.
/// @param deduplicate  an item that is in several entries of a group counts once
/// @param keys         entry e's key
/// @par Complexity
/// Time O(n + k log k) for n items in k entries.
template <class Key>
std::vector<item_group<Key>> group_items(const neighbor_list& list, count_t num_items,
                                         bool deduplicate, const std::vector<Key>& keys) {
    std::vector<std::size_t> order(list.size());
    for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    // The group in which an item was seen last.
    std::vector<std::uint32_t> seen_in(deduplicate ? static_cast<std::size_t>(num_items) : 0);
    std::uint32_t num_groups = 0;
    std::vector<item_group<Key>> groups;
    for (std::size_t k = 0; k < order.size();) {
        std::size_t end = k + 1;
        while (end < order.size() && keys[order[end]] == keys[order[k]]) ++end;
        item_group<Key> group{keys[order[k]], 0};
        ++num_groups;
        // An entry of its own has no item twice, but for one that is sent twice to one rank.
        const bool is_alone = end == k + 1;
        for (; k < end; ++k) {
            const auto items = list[order[k]];
            if (!deduplicate || is_alone) {
                group.num_items += static_cast<count_t>(items.size());
                continue;
            }
            for (const count_t item : items) {
                auto& seen = seen_in[static_cast<std::size_t>(item)];
                if (seen == num_groups) continue;
                seen = num_groups;
                ++group.num_items;
            }
        }
        if (group.num_items > 0) groups.push_back(group);
    }
    return groups;
}

/// @brief As above, with a key for each neighbor.
template <class KeyOf>
requires std::invocable<KeyOf, rank_t>
auto group_items(const neighbor_list& list, count_t num_items, bool deduplicate, KeyOf&& key_of) {
    std::vector<decltype(key_of(rank_t{}))> keys;
    for (const rank_t rank : list.ranks) keys.push_back(key_of(rank));
    return group_items(list, num_items, deduplicate, keys);
}

}  // namespace crossdock
