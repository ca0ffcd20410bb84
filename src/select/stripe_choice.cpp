#include "stripe_choice.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock {

count_t suggest_stripe_bytes(const machine& m, rank_t ranks_per_node, rank_t senders_per_node) {
    const auto& network = m.at(locality_level::network);
    const double rank_seconds = network.rendezvous.seconds_per_byte;
    const double node_seconds = senders_per_node * m.injection_seconds_per_byte;
    const double whole = std::max(rank_seconds, node_seconds);
    const double shared_out =
        std::max(rank_seconds * senders_per_node / ranks_per_node, node_seconds);
    const double saved = whole - shared_out;
    if (saved <= 0) return 0;
    const double stripe_seconds =
        network.send_overhead_seconds + network.receive_overhead_seconds + 2 * m.hand_over_seconds;
    return std::max(static_cast<count_t>(std::ceil(stripe_seconds / saved)),
                    network.rendezvous_bytes + 1);
}

}  // namespace crossdock
