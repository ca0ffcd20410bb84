#include "crossdock/array/route_rule.hpp"

#include "crossdock/exchange/algorithm.hpp"

namespace crossdock {

std::string choose_array_route(const topology& regions, count_t num_requests) {
    const array_route_rule rule(regions, num_requests);
    return rule.route_for_next();
}

array_route_rule::array_route_rule(const topology& regions, count_t expected_requests)
    : least_of_many_(few_requests_per_message * regions.num_ranks()),
      most_requests_(expected_requests),
      for_few_(choose_exchange_algorithm(regions).route),
      for_many_("direct") {}

}  // namespace crossdock
