/// @file
/// @brief What an exchange must bring, from the patterns of all ranks alone.
#pragma once

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

}  // namespace crossdock::test
