#include "grid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "block_grid.hpp"
#include "direct.hpp"
#include "grid_shape.hpp"
#include "place_search.hpp"

namespace crossdock {

namespace {

// At least P, without overflowing on the way.
bool product_reaches(const std::vector<rank_t>& shape, rank_t num_ranks) {
    count_t product = 1;
    for (const rank_t k : shape) product = std::min<count_t>(product * k, num_ranks);
    return product >= num_ranks;
}

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

}  // namespace

std::vector<rank_t> balanced_shape(rank_t num_ranks, int num_dimensions) {
    const auto n = static_cast<std::size_t>(num_dimensions);
    if (std::has_single_bit(static_cast<unsigned>(num_ranks))) {
        const int bits = std::countr_zero(static_cast<unsigned>(num_ranks));
        std::vector<rank_t> shape(n, 1 << (bits / num_dimensions));
        std::fill_n(shape.begin(), bits % num_dimensions, 2 << (bits / num_dimensions));
        return shape;
    }
    // From just below the root, which the floating-point power may miss by a little.
    auto root = std::max(1, static_cast<rank_t>(std::pow(num_ranks, 1.0 / num_dimensions)) - 1);
    while (!product_reaches(std::vector<rank_t>(n, root), num_ranks)) ++root;
    std::vector<rank_t> shape(n, root);
    for (auto k = shape.rbegin(); k != shape.rend(); ++k) {
        --*k;
        if (*k == 0 || !product_reaches(shape, num_ranks)) {
            ++*k;
            break;
        }
    }
    return shape;
}

std::unique_ptr<route> grid_route::make_grid(std::string_view parameters, const topology& regions) {
    const std::string name = "grid" + std::string(parameters);
    const bool is_mapped = remove_mapped(parameters);
    const auto text = after_colon(parameters);
    const rank_t num_ranks = regions.num_ranks();
    auto shape = text.find('x') == std::string_view::npos
                     ? parse_balanced_shape(text, name, num_ranks)
                     : parse_shape(text, name);
    if (!product_reaches(shape, num_ranks)) {
        throw error(errc::invalid_route, name + " has too few places for " +
                                             std::to_string(num_ranks) +
                                             " ranks; give larger sides");
    }
    return std::unique_ptr<route>(new grid_route(name, regions, std::move(shape), is_mapped));
}

std::unique_ptr<route> grid_route::make_named(std::string_view name, std::string_view parameters,
                                              const topology& regions, std::vector<rank_t> shape) {
    reject_parameters(name, parameters);
    return std::unique_ptr<route>(new grid_route(std::string(name), regions, std::move(shape)));
}

std::unique_ptr<route> grid_route::make_hypercube(std::string_view parameters,
                                                  const topology& regions) {
    const std::string name = "hypercube" + std::string(parameters);
    const bool is_mapped = remove_mapped(parameters);
    reject_parameters("hypercube", parameters);
    return std::unique_ptr<route>(
        new grid_route(name, regions, hypercube_shape(regions.num_ranks()), is_mapped));
}

std::vector<std::string> grid_route::grid_candidates(const topology& regions, bool) {
    std::vector<std::string> names;
    const auto most = std::ssize(hypercube_shape(regions.num_ranks()));
    for (int n = 2; n <= most_candidate_dimensions && n < most; ++n)
        names.push_back("grid:" + std::to_string(n));
    return names;
}

std::vector<std::string> grid_route::hypercube_candidates(const topology& regions, bool) {
    if (hypercube_shape(regions.num_ranks()).size() < 2) return {};
    return {"hypercube"};
}

std::unique_ptr<route> grid_route::make_equal(std::string_view parameters,
                                              const topology& regions) {
    const std::string name = "equal" + std::string(parameters);
    auto shape = parse_balanced_shape(after_colon(parameters), name, regions.num_ranks());
    return std::unique_ptr<route>(new grid_route(name, regions, std::move(shape)));
}

std::unique_ptr<route> grid_route::make_increase(std::string_view parameters,
                                                 const topology& regions) {
    return make_named("increase", parameters, regions, increasing_shape(regions.num_ranks()));
}

std::unique_ptr<route> grid_route::make_decrease(std::string_view parameters,
                                                 const topology& regions) {
    return make_named("decrease", parameters, regions, decreasing_shape(regions.num_ranks()));
}

std::unique_ptr<route> grid_route::make_hourglass(std::string_view parameters,
                                                  const topology& regions) {
    return make_named("hourglass", parameters, regions, hourglass_shape(regions.num_ranks()));
}

std::unique_ptr<route> grid_route::make_inverse_hourglass(std::string_view parameters,
                                                          const topology& regions) {
    return make_named("inverse_hourglass", parameters, regions,
                      inverse_hourglass_shape(regions.num_ranks()));
}

rank_t grid_route::place_of(rank_t rank) const {
    return places_.place_of_rank.empty() ? rank
                                         : places_.place_of_rank[static_cast<std::size_t>(rank)];
}

rank_t grid_route::rank_at(rank_t place) const {
    return places_.rank_at_place.empty() ? place
                                         : places_.rank_at_place[static_cast<std::size_t>(place)];
}

std::vector<rank_t> grid_route::ranks_at(std::vector<rank_t> places) const {
    if (places_.rank_at_place.empty()) return places;
    for (auto& place : places) place = rank_at(place);
    std::ranges::sort(places);
    return places;
}

rank_t grid_route::next_hop(rank_t here, rank_t destination, int stage, const leader_table&) const {
    const block_grid grid(regions().num_ranks(), shape_);
    return rank_at(grid.next(place_of(here), place_of(destination), stage));
}

stage_partners grid_route::partners(rank_t here, int stage) const {
    const block_grid grid(regions().num_ranks(), shape_);
    const rank_t place = place_of(here);
    return {ranks_at(grid.destinations(place, stage)), ranks_at(grid.sources(place, stage))};
}

count_t grid_route::max_messages_per_rank() const {
    return block_grid(regions().num_ranks(), shape_).max_destinations();
}

std::vector<rank_t> grid_route::find_places(std::span<const rank_traffic> traffic) const {
    return search_places(regions(), shape_, traffic);
}

std::unique_ptr<route> grid_route::with_places(std::vector<rank_t> place_of_rank) const {
    auto placed = std::unique_ptr<grid_route>(new grid_route(name(), regions(), shape_, false));
    auto& [places, ranks] = placed->places_;
    ranks.resize(place_of_rank.size());
    for (std::size_t rank = 0; rank < place_of_rank.size(); ++rank)
        ranks[static_cast<std::size_t>(place_of_rank[rank])] = static_cast<rank_t>(rank);
    places = std::move(place_of_rank);
    return placed;
}

}  // namespace crossdock
