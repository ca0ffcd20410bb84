/// @file
/// @brief How long messages between memory domains are split over their ranks.
#pragma once

#include <utility>

#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief Which long messages are split into stripes, and who carries each of them.
///
/// Stripe 0 is sent by the message's source and received by its destination. Stripe k is sent and
/// received by the k-th ranks after these in their domains; after the last rank comes the first.
///
///     domains "2x4", a message from 1 to 6 in 3 stripes    1 -> 6, 2 -> 7, 3 -> 4
struct stripe_rule {
    stripe_rule(topology d, count_t items) : domains(std::move(d)), items_per_stripe(items) {}

    topology domains;          ///< the regions are the ranks that share memory
    count_t items_per_stripe;  ///< at least 1

    /// @brief The stripes of a message: at most one for each rank of the smaller domain; 1 if it is
    /// not split.
    int num_stripes(rank_t source, rank_t destination, count_t num_items) const;
    rank_t sender(rank_t source, int stripe) const { return neighbor_of(source, stripe); }
    rank_t receiver(rank_t destination, int stripe) const {
        return neighbor_of(destination, stripe);
    }

  private:
    rank_t neighbor_of(rank_t rank, int slots) const;
};

}  // namespace crossdock
