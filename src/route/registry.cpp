#include <algorithm>
#include <array>

#include "crossdock/route.hpp"
#include "direct.hpp"
#include "grid.hpp"
#include "locality.hpp"
#include "three_step.hpp"
#include "two_step.hpp"

namespace crossdock {

namespace {

std::vector<route_description>& registry() {
    static std::vector<route_description> routes{
        {"direct", "direct", "one message to every destination", &direct_route::make},
        {"two_step", "two_step", "to the counterpart in the destination region, then inside it",
         &two_step_route::make, &two_step_route::candidates},
        {"three_step", "three_step",
         "one message between two regions, shared out inside both; three_step:K by at most K of "
         "each",
         &three_step_route::make, &three_step_route::candidates},
        {"grid", "grid:2",
         "one dimension of a virtual grid after the other; grid:K1xK2x… or grid:n, and with "
         ":mapped "
         "behind at places that suit the pattern",
         &grid_route::make_grid, &grid_route::grid_candidates},
        {"hypercube", "hypercube", "halves of halves: a grid whose dimensions are all 2",
         &grid_route::make_hypercube, &grid_route::hypercube_candidates},
        {"locality", "locality",
         "over a grid of regions, then inside the destination region; locality:n for n dimensions",
         &locality_route::make, &locality_route::candidates},
    };
    return routes;
}

}  // namespace

const std::vector<route_description>& registered_routes() { return registry(); }

void register_route(route_description added) {
    for (const auto* routes : std::array{&registered_routes(), &named_grids()}) {
        for (const auto& entry : *routes) {
            if (entry.name == added.name) {
                throw error(errc::invalid_argument,
                            "there is a route called \"" + added.name + "\" already");
            }
        }
    }
    if (added.make == nullptr) {
        throw error(errc::invalid_argument,
                    "the route \"" + added.name + "\" has no function that makes it");
    }
    registry().push_back(std::move(added));
}

const std::vector<route_description>& named_grids() {
    static const std::vector<route_description> grids{
        {"equal", "equal:2", "a grid of n nearly equal dimensions, the same as grid:n",
         &grid_route::make_equal},
        {"increase", "increase", "a grid whose dimensions are ever larger powers of two",
         &grid_route::make_increase},
        {"decrease", "decrease", "a grid whose dimensions are ever smaller powers of two",
         &grid_route::make_decrease},
        {"hourglass", "hourglass", "a grid whose dimensions first decrease, then increase",
         &grid_route::make_hourglass},
        {"inverse_hourglass", "inverse_hourglass",
         "a grid whose dimensions first increase, then decrease",
         &grid_route::make_inverse_hourglass},
    };
    return grids;
}

std::vector<rank_t> route::find_places(std::span<const rank_traffic>) const {
    throw error(errc::internal, "route " + name_ + " has no places to choose");
}

std::unique_ptr<route> route::with_places(std::vector<rank_t>) const {
    throw error(errc::internal, "route " + name_ + " has no places to choose");
}

std::unique_ptr<route> make_route(std::string_view name, const topology& regions) {
    const auto colon = std::min(name.find(':'), name.size());
    const auto key = name.substr(0, colon);
    std::string known;
    for (const auto* routes : std::array{&registered_routes(), &named_grids()}) {
        for (const auto& entry : *routes) {
            if (entry.name == key) return entry.make(name.substr(colon), regions);
            known += (known.empty() ? "" : ", ") + entry.name;
        }
    }
    throw error(errc::unknown_route,
                "no route is called \"" + std::string(name) + "\"; there are " + known);
}

}  // namespace crossdock
