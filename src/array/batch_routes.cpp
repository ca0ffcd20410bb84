#include "batch_routes.hpp"

#include <algorithm>

#include "crossdock/route_choice.hpp"

namespace crossdock {

batch_routes::batch_routes(const topology& regions, const block_partition& owners, rank_t here,
                           const std::string& route, count_t expected_requests,
                           const request_size& size, const machine& m) {
    std::vector<std::string> names{route};
    if (route == automatic_route) {
        rule_.emplace(regions, expected_requests, size, m);
        names = {rule_->route_for_many(), rule_->route_for_few()};
    }
    for (const auto& name : names) routings_.emplace_back(name, regions, owners, here);
    choose_next();
}

const batch_route& batch_routes::choose_next() {
    latest_ = rule_ && rule_->route_for_next() != rule_->route_for_many() ? 1 : 0;
    return latest();
}

void batch_routes::learn(count_t most_requests) {
    if (rule_) rule_->learn(most_requests);
}

std::size_t batch_routes::max_stages() const {
    return std::max(routings_.front().num_stages(), routings_.back().num_stages());
}

}  // namespace crossdock
