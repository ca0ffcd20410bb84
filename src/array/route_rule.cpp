#include "route_rule.hpp"

namespace crossdock {

namespace {

// A rank combines the requests that it receives, and splits the replies. Fitted to `bench array` on G(n,m) with 512 to
// 16,384 edges a rank, on 16 ranks that share 2 cores.
constexpr double seconds_to_combine_or_split = 7e-9;

}  // namespace

array_route_rule::array_route_rule(const topology& regions, count_t expected_requests,
                                   const request_size& size, const machine& m)
    : machine_(m), prices_(regions), size_(size), for_few_(prices_.choose(m).route()) {
    learn(expected_requests);
}

void array_route_rule::learn(count_t most_requests) {
    are_many_ = for_few_ == for_many_ ||
                seconds(for_many_, most_requests) < seconds(for_few_, most_requests);
}

// Of all that is carried there and back again.
double array_route_rule::seconds(const std::string& route, count_t num_requests) const {
    const auto one_way = [&](count_t item_bytes) {
        return prices_.seconds(route, machine_,
                               {.num_items = num_requests,
                                .item_bytes = item_bytes,
                                .seconds_per_item = seconds_to_combine_or_split});
    };
    return one_way(size_.index_bytes) + one_way(size_.item_bytes);
}

}  // namespace crossdock
