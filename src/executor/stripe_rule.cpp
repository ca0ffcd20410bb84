#include "stripe_rule.hpp"

#include <algorithm>

namespace crossdock {

int stripe_rule::num_stripes(rank_t source, rank_t destination, count_t num_items) const {
    const region_t from = domains.region_of(source);
    const region_t to = domains.region_of(destination);
    if (from == to) return 1;
    const count_t wanted = (num_items + items_per_stripe - 1) / items_per_stripe;
    const rank_t most = std::min(domains.region_size(from), domains.region_size(to));
    return static_cast<int>(std::clamp<count_t>(wanted, 1, most));
}

rank_t stripe_rule::neighbor_of(rank_t rank, int slots) const {
    const region_t region = domains.region_of(rank);
    return domains.rank_at(region,
                           (domains.local_rank(rank) + slots) % domains.region_size(region));
}

}  // namespace crossdock
