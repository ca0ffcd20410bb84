#include "crossdock/exchange/algorithm.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "crossdock/route/grid.hpp"

namespace crossdock {

namespace {

constexpr std::string_view routed_prefix = "routed:";
constexpr rank_t few_ranks = 16;

// What a rank's part in a stage costs, in messages inside a region: waiting for its partners, and
// each message.
struct stage_cost {
    count_t waiting;
    count_t message;

    count_t of(count_t num_messages) const { return waiting + num_messages * message; }
};
constexpr stage_cost inside{10, 1};
constexpr stage_cost across{20, 10};

struct priced_route {
    std::string name;
    count_t cost;
};

priced_route cheapest(std::initializer_list<priced_route> routes) {
    return *std::min_element(routes.begin(), routes.end(),
                             [](const auto& a, const auto& b) { return a.cost < b.cost; });
}

// `name`:n for the number of dimensions for which a grid of so many places costs least.
priced_route cheapest_grid(const std::string& name, rank_t num_places, const stage_cost& cost) {
    priced_route best{{}, std::numeric_limits<count_t>::max()};
    const int most =
        std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(num_places - 1))));
    for (int n = 1; n <= most; ++n) {
        count_t total = 0;
        for (const rank_t k : balanced_shape(num_places, n)) total += cost.of(k - 1);
        if (total < best.cost) best = {name + ":" + std::to_string(n), total};
    }
    return best;
}

std::string cheapest_between_regions(const topology& regions) {
    const region_t num_regions = regions.num_regions();
    rank_t smallest = regions.num_ranks();
    rank_t largest = 1;
    for (region_t region = 0; region < num_regions; ++region) {
        smallest = std::min(smallest, regions.region_size(region));
        largest = std::max(largest, regions.region_size(region));
    }
    const count_t inside_cost = inside.of(largest - 1);
    const count_t regions_per_member = (num_regions - 2) / smallest + 1;
    auto locality = cheapest_grid("locality", num_regions, across);
    locality.cost += inside_cost;
    // Every hop of a grid may lead to another region.
    return cheapest({locality,
                     {"three_step", 2 * inside_cost + across.of(regions_per_member)},
                     cheapest_grid("grid", regions.num_ranks(), across)})
        .name;
}

}  // namespace

const std::vector<exchange_description>& registered_exchange_algorithms() {
    using method = exchange_method;
    static const std::vector<exchange_description> algorithms{
        {"personalized",
         {"pex", "allreduce"},
         "sum a vector of counts over all ranks, then send and receive",
         method::personalized},
        {"nonblocking",
         {"nbx", "ibarrier"},
         "send synchronously; a nonblocking reduction tells when all is received",
         method::nonblocking},
        {"rma", {}, "put into the receiver's window; messages of one size only", method::rma},
        {"locality_personalized",
         {},
         "one message to each region, found as by personalized; then inside the regions",
         method::locality_personalized},
        {"locality_nonblocking",
         {},
         "one message to each region, found as by nonblocking; then inside the regions",
         method::locality_nonblocking},
        {"reduce_scatter",
         {"redscatter", "rsx", "pcx"},
         "as personalized, but every rank gets its own count only",
         method::reduce_scatter},
        {"routed",
         {},
         "routed:ROUTE: to known partners along a route, as routed:grid:2",
         method::routed},
    };
    return algorithms;
}

exchange_algorithm parse_exchange_algorithm(std::string_view name) {
    if (name.starts_with(routed_prefix))
        return {exchange_method::routed, std::string(name.substr(routed_prefix.size()))};
    std::string known;
    for (const auto& one : registered_exchange_algorithms()) {
        const bool takes_route = one.method == exchange_method::routed;
        const bool is_named = one.name == name || std::find(one.aliases.begin(), one.aliases.end(),
                                                            name) != one.aliases.end();
        if (is_named && !takes_route) return {one.method, {}};
        known += one.name + (takes_route ? ":ROUTE" : ", ");
    }
    throw error(errc::invalid_argument, "no exchange algorithm is called \"" + std::string(name) +
                                            "\"; there are auto, " + known);
}

std::string to_string(const exchange_algorithm& algorithm) {
    if (algorithm.method == exchange_method::routed)
        return std::string(routed_prefix) + algorithm.route;
    const auto& all = registered_exchange_algorithms();
    return std::find_if(all.begin(), all.end(),
                        [&](const auto& one) { return one.method == algorithm.method; })
        ->name;
}

exchange_algorithm choose_exchange_algorithm(const topology& regions) {
    std::string route = "direct";
    if (regions.num_regions() > 1) {
        route = cheapest_between_regions(regions);
    } else if (regions.num_ranks() > few_ranks) {
        route = cheapest_grid("grid", regions.num_ranks(), inside).name;
    }
    return {exchange_method::routed, route};
}

}  // namespace crossdock
