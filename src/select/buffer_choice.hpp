// How to buffer items that leave one by one: the cheapest way whose buffers are small
// enough.
#pragma once

#include <span>

#include "crossdock/machine.hpp"

namespace crossdock {

/// @brief One way of buffering, and what happens to an item on it, on average.
struct buffering {
    count_t buffer_bytes = 0;       ///< of all buffers that one source fills
    count_t most_buffer_bytes = 0;  ///< as many stay in the cache that the source works in
    double messages = 0;            ///< to another node
    double copies = 0;              ///< of one item by itself, besides the push
    double hand_overs = 0;          ///< waiting for a line that another core has written
};

/// @brief What an item costs: its part of messages' overheads, its copies, and hand-overs.
inline double seconds_per_item(const buffering& way, count_t item_bytes, const machine& m) {
    const auto& network = m.at(locality_level::network);
    return way.messages * (network.send_overhead_seconds + network.receive_overhead_seconds) +
           way.copies * (m.copy_seconds_per_item +
                         static_cast<double>(item_bytes) * m.copy_seconds_per_byte) +
           way.hand_overs * m.hand_over_seconds;
}

/// @brief The place of the cheapest way whose buffers stay in the cache; the last one if none does.
/// @param ways  at least one; of equal prices the first is taken
inline std::size_t choose_buffering(std::span<const buffering> ways, count_t item_bytes,
                                    const machine& m) {
    std::size_t best = ways.size();
    for (std::size_t k = 0; k < ways.size(); ++k) {
        if (ways[k].buffer_bytes > ways[k].most_buffer_bytes) continue;
        const bool is_better =
            best == ways.size() ||
            seconds_per_item(ways[k], item_bytes, m) < seconds_per_item(ways[best], item_bytes, m);
        if (is_better) best = k;
    }
    return best == ways.size() ? ways.size() - 1 : best;
}

}  // namespace crossdock
