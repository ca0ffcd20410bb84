/// @file
/// @brief What an exchange must bring, from the patterns of all ranks alone.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "crossdock/pattern.hpp"

namespace crossdock::test {

/// @brief A slot that gets item `item` of rank `source`.
struct arrival {
    count_t slot;
    rank_t source;
    count_t item;
};

/// @brief What `receiver` gets.
inline std::vector<arrival> arrivals(const std::vector<pattern>& patterns, rank_t receiver) {
    std::map<rank_t, std::vector<count_t>> items;
    for (const auto& p : patterns) {
        for (std::size_t e = 0; e < p.sends.size(); ++e) {
            if (p.sends.ranks[e] != receiver) continue;
            items[p.rank].insert(items[p.rank].end(), p.sends[e].begin(), p.sends[e].end());
        }
    }
    std::map<rank_t, std::size_t> next;
    std::vector<arrival> result;
    const auto& receives = patterns[static_cast<std::size_t>(receiver)].receives;
    for (std::size_t e = 0; e < receives.size(); ++e) {
        const rank_t source = receives.ranks[e];
        for (const count_t slot : receives[e])
            result.push_back({slot, source, items[source].at(next[source]++)});
    }
    return result;
}

/// @brief The arrays of one exchange forward on a rank, and what its slots must hold then: -1 where nothing comes.
template <class T = count_t>
struct forward_arrays {
    std::vector<T> items, slots, expected;

    forward_arrays(const std::vector<pattern>& patterns, rank_t rank, count_t round = 0) {
        const auto value_of = [&](rank_t source, count_t item) {
            return static_cast<T>(100 * source + item + round);
        };
        const auto& own = patterns[static_cast<std::size_t>(rank)];
        for (count_t i = 0; i < own.num_items; ++i) items.push_back(value_of(rank, i));
        slots.assign(static_cast<std::size_t>(own.num_slots), T(-1));
        expected = slots;
        for (const auto& a : arrivals(patterns, rank))
            expected[static_cast<std::size_t>(a.slot)] = value_of(a.source, a.item);
    }
};

/// @brief Exchanges forward once.
template <class T = count_t, class Exchange>
void expect_delivered(Exchange& exchange, const std::vector<pattern>& patterns, rank_t rank,
                      count_t round = 0) {
    forward_arrays<T> arrays(patterns, rank, round);
    exchange.forward(arrays.items, arrays.slots);
    EXPECT_EQ(arrays.slots, arrays.expected);
}

}  // namespace crossdock::test
