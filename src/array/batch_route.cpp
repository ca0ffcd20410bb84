#include "batch_route.hpp"

namespace crossdock {

batch_route::batch_route(std::string_view route_name, const topology& where,
                         const block_partition& of, rank_t rank)
    : regions(where), owners(of), here(rank), r(make_route(route_name, where)) {
    for (int s = 0; s < r->num_stages(); ++s) stages.push_back(r->partners(here, s));
    if (stages.empty()) stages.emplace_back();
}

}  // namespace crossdock
