#include "grid.hpp"

#include <algorithm>

#include "../base/throw_error.hpp"
#include "grid_shape.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

constexpr int most_candidate_dimensions = 4;

std::string_view after_colon(std::string_view parameters) {
    return parameters.substr(std::min<std::size_t>(1, parameters.size()));
}

// The shape of "grid:n".
std::unique_ptr<route> make_equal(std::string_view parameters, const topology& regions) {
    const std::string name = "equal" + std::string(parameters);
    return std::make_unique<grid_route>(
        name, regions, parse_balanced_shape(after_colon(parameters), name, regions.num_ranks()));
}

// A shape that follows from the number of ranks alone.
struct named_shape {
    const char* name;
    std::vector<int> (*of)(int num_cells);
};
constexpr named_shape increase{"increase", &increasing_shape};
constexpr named_shape decrease{"decrease", &decreasing_shape};
constexpr named_shape hourglass{"hourglass", &hourglass_shape};
constexpr named_shape inverse_hourglass{"inverse_hourglass", &inverse_hourglass_shape};

template <const named_shape& named>
std::unique_ptr<route> make_named(std::string_view parameters, const topology& regions) {
    reject_parameters(named.name, parameters);
    return std::make_unique<grid_route>(named.name, regions, named.of(regions.num_ranks()));
}

template <const named_shape& named>
route_description described(const char* summary) {
    return {named.name, named.name, summary, &make_named<named>};
}

}  // namespace

const std::vector<route_description>& named_grids() {
    static const std::vector<route_description> grids{
        {"equal", "equal:2", "a grid of n nearly equal dimensions, the same as grid:n",
         &make_equal},
        described<increase>("a grid whose dimensions are ever larger powers of two"),
        described<decrease>("a grid whose dimensions are ever smaller powers of two"),
        described<hourglass>("a grid whose dimensions first decrease, then increase"),
        described<inverse_hourglass>("a grid whose dimensions first increase, then decrease"),
    };
    return grids;
}

std::unique_ptr<route> make_grid(std::string_view parameters, const topology& regions) {
    const std::string name = "grid" + std::string(parameters);
    const auto text = after_colon(parameters);
    const rank_t num_ranks = regions.num_ranks();
    auto shape = text.find('x') == std::string_view::npos
                     ? parse_balanced_shape(text, name, num_ranks)
                     : parse_shape(text, name);
    if (!product_reaches(shape, num_ranks)) {
        throw_error(errc::invalid_route, "{} has too few places for {} ranks; give larger sides",
                    name, num_ranks);
    }
    return std::make_unique<grid_route>(name, regions, std::move(shape));
}

std::vector<std::string> grid_candidates(const topology& regions, bool) {
    std::vector<std::string> names;
    const auto most = std::ssize(hypercube_shape(regions.num_ranks()));
    for (int n = 2; n <= most_candidate_dimensions && n < most; ++n)
        names.push_back("grid:" + std::to_string(n));
    return names;
}

std::unique_ptr<route> make_hypercube(std::string_view parameters, const topology& regions) {
    const std::string name = "hypercube" + std::string(parameters);
    reject_parameters("hypercube", parameters);
    return std::make_unique<grid_route>(name, regions, hypercube_shape(regions.num_ranks()));
}

std::vector<std::string> hypercube_candidates(const topology& regions, bool) {
    if (hypercube_shape(regions.num_ranks()).size() < 2) return {};
    return {"hypercube"};
}

rank_t grid_route::next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const {
    return grid().next(here, destination, stage);
}

stage_partners grid_route::partners(rank_t here, int stage) const {
    return {grid().destinations(here, stage), grid().sources(here, stage)};
}

}  // namespace crossdock
