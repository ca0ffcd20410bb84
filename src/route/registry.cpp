#include <algorithm>

#include "../base/throw_error.hpp"
#include "crossdock/route.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

std::vector<route_description>& registry() {
    static std::vector<route_description> routes{
        {"direct", "direct", "one message to every destination", &make_direct},
        {"two_step", "two_step", "to the counterpart in the destination region, then inside it",
         &make_two_step, &two_step_candidates},
        {"three_step", "three_step",
         "one message between two regions, shared out inside both; three_step:K by at most K of "
         "each",
         &make_three_step, &three_step_candidates},
        {"grid", "grid:2",
         "one dimension of a virtual grid after the other; grid:K1xK2x… or grid:n", &make_grid,
         &grid_candidates},
        {"hypercube", "hypercube", "halves of halves: a grid whose dimensions are all 2",
         &make_hypercube, &hypercube_candidates},
        {"locality", "locality",
         "over a grid of regions, then inside the destination region; locality:n for n dimensions",
         &make_locality, &locality_candidates},
    };
    return routes;
}

// Null if there is none.
const route_description* find_entry(std::string_view name) {
    for (const auto* routes : {&registered_routes(), &named_grids()}) {
        const auto found = std::ranges::find(*routes, name, &route_description::name);
        if (found != routes->end()) return &*found;
    }
    return nullptr;
}

}  // namespace

const std::vector<route_description>& registered_routes() { return registry(); }

void reject_parameters(std::string_view name, std::string_view parameters) {
    if (parameters.empty()) return;
    throw_error(errc::invalid_route, "route {} takes no parameters, but got \"{}\"", name,
                parameters);
}

void register_route(route_description added) {
    if (find_entry(added.name))
        throw_error(errc::invalid_argument,
                    "there is a route called \"{}\" already; choose another name", added.name);
    if (added.make == nullptr)
        throw_error(errc::invalid_argument, "make of the route \"{}\" is a null pointer",
                    added.name);
    registry().push_back(std::move(added));
}

std::unique_ptr<route> make_route(std::string_view name, const topology& regions) {
    const auto colon = std::min(name.find(':'), name.size());
    const auto* const entry = find_entry(name.substr(0, colon));
    if (entry) return entry->make(name.substr(colon), regions);
    std::string known;
    for (const auto* routes : {&registered_routes(), &named_grids()}) {
        for (const auto& one : *routes) known += (known.empty() ? "" : ", ") + one.name;
    }
    throw_error(errc::unknown_route, "no route is called \"{}\"; there are {}", name, known);
}

}  // namespace crossdock
