#include "inside_route.hpp"

#include "crossdock/exchange_algorithm.hpp"

namespace crossdock {

std::unique_ptr<route> make_inside_route(rank_t num_members, const machine& m) {
    const auto members = topology::one_region(num_members);
    return make_route(choose_exchange_algorithm(members, m).route, members);
}

}  // namespace crossdock
