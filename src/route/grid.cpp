#include "grid.hpp"

#include <algorithm>

#include "../base/throw_error.hpp"
#include "grid_shape.hpp"
#include "place_search.hpp"
#include "routes.hpp"

namespace crossdock {

namespace {

constexpr int most_candidate_dimensions = 4;

std::string_view after_colon(std::string_view parameters) {
    return parameters.substr(std::min<std::size_t>(1, parameters.size()));
}

// Takes ":mapped" off the end, if it is there.
bool remove_mapped(std::string_view& parameters) {
    constexpr std::string_view mapped = ":mapped";
    if (!parameters.ends_with(mapped)) return false;
    parameters.remove_suffix(mapped.size());
    return true;
}

// The entry of `number` in a permutation; empty: each is its own.
rank_t entry_of(const std::vector<rank_t>& permutation, rank_t number) {
    return permutation.empty() ? number : permutation[static_cast<std::size_t>(number)];
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
    const bool is_mapped = remove_mapped(parameters);
    const auto text = after_colon(parameters);
    const rank_t num_ranks = regions.num_ranks();
    auto shape = text.find('x') == std::string_view::npos
                     ? parse_balanced_shape(text, name, num_ranks)
                     : parse_shape(text, name);
    if (!product_reaches(shape, num_ranks)) {
        throw_error(errc::invalid_route, "{} has too few places for {} ranks; give larger sides",
                    name, num_ranks);
    }
    return std::make_unique<grid_route>(name, regions, std::move(shape), is_mapped);
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
    const bool is_mapped = remove_mapped(parameters);
    reject_parameters("hypercube", parameters);
    return std::make_unique<grid_route>(name, regions, hypercube_shape(regions.num_ranks()),
                                        is_mapped);
}

std::vector<std::string> hypercube_candidates(const topology& regions, bool) {
    if (hypercube_shape(regions.num_ranks()).size() < 2) return {};
    return {"hypercube"};
}

std::vector<rank_t> grid_route::ranks_at(std::vector<rank_t> places) const {
    if (rank_at_place_.empty()) return places;
    for (auto& place : places) place = entry_of(rank_at_place_, place);
    std::ranges::sort(places);
    return places;
}

rank_t grid_route::next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const {
    return entry_of(rank_at_place_, grid().next(entry_of(place_of_rank_, here),
                                                entry_of(place_of_rank_, destination), stage));
}

stage_partners grid_route::partners(rank_t here, int stage) const {
    const rank_t place = entry_of(place_of_rank_, here);
    return {ranks_at(grid().destinations(place, stage)), ranks_at(grid().sources(place, stage))};
}

std::vector<rank_t> grid_route::find_places(std::span<const rank_traffic> traffic) const {
    return search_places(regions(), shape_, traffic);
}

std::unique_ptr<route> grid_route::with_places(std::vector<rank_t> place_of_rank) const {
    auto placed = std::make_unique<grid_route>(name(), regions(), shape_);
    placed->rank_at_place_.resize(place_of_rank.size());
    for (std::size_t rank = 0; rank < place_of_rank.size(); ++rank)
        placed->rank_at_place_[static_cast<std::size_t>(place_of_rank[rank])] =
            static_cast<rank_t>(rank);
    placed->place_of_rank_ = std::move(place_of_rank);
    return placed;
}

}  // namespace crossdock
