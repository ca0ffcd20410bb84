#include "crossdock/array/route_rule.hpp"

#include "crossdock/exchange/algorithm.hpp"

namespace crossdock {

std::string choose_array_route(const topology& regions, count_t num_requests) {
    const array_route_rule rule(regions, num_requests);
    return rule.route_for(0);
}

array_route_rule::array_route_rule(const topology& regions, count_t expected_requests)
    : least_of_many_(few_requests_per_message * regions.num_ranks()),
      expected_requests_(expected_requests),
      for_few_(choose_exchange_algorithm(regions).route),
      for_many_("direct") {}

const std::string& array_route_rule::route_for(std::int64_t kind) const {
    const auto known = most_requests_.find(kind);
    const count_t most = known == most_requests_.end() ? expected_requests_ : known->second;
    return most >= least_of_many_ ? for_many_ : for_few_;
}

}  // namespace crossdock
