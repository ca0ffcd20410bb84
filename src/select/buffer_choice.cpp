#include "buffer_choice.hpp"

namespace crossdock {

double seconds_per_item(const buffering& way, count_t item_bytes, const machine& m) {
    const auto& network = m.at(locality_level::network);
    return way.messages * (network.send_overhead_seconds + network.receive_overhead_seconds) +
           way.copies * (m.copy_seconds_per_item +
                         static_cast<double>(item_bytes) * m.copy_seconds_per_byte) +
           way.hand_overs * m.hand_over_seconds;
}

std::size_t choose_buffering(std::span<const buffering> ways, count_t item_bytes,
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
