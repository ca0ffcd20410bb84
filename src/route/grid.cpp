#include "crossdock/route/grid.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "block_grid.hpp"
#include "crossdock/route/direct.hpp"

namespace crossdock {

namespace {

constexpr int max_dimensions = 31;

// At least P, without overflowing on the way.
bool product_reaches(const std::vector<rank_t>& shape, rank_t num_ranks) {
    count_t product = 1;
    for (const rank_t k : shape) product = std::min<count_t>(product * k, num_ranks);
    return product >= num_ranks;
}

rank_t parse_dimension(std::string_view text, std::string_view parameters) {
    rank_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size() || value < 1) {
        throw error(errc::invalid_route, "grid" + std::string(parameters) + ": \"" +
                                             std::string(text) + "\" is not a positive number");
    }
    return value;
}

std::vector<rank_t> parse_shape(std::string_view parameters) {
    std::vector<rank_t> shape;
    std::string_view rest = parameters.substr(std::min<std::size_t>(1, parameters.size()));
    while (true) {
        const auto cross = std::min(rest.find('x'), rest.size());
        shape.push_back(parse_dimension(rest.substr(0, cross), parameters));
        if (cross == rest.size()) return shape;
        rest.remove_prefix(cross + 1);
    }
}

void require_dimensions(count_t num_dimensions, std::string_view parameters) {
    if (num_dimensions <= max_dimensions) return;
    throw error(errc::invalid_route,
                "grid" + std::string(parameters) + " has " + std::to_string(num_dimensions) +
                    " dimensions, more than " + std::to_string(max_dimensions));
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
    std::vector<rank_t> shape = parse_shape(parameters);
    if (shape.size() == 1) {
        require_dimensions(shape[0], parameters);
        shape = balanced_shape(regions.num_ranks(), shape[0]);
    }
    require_dimensions(static_cast<count_t>(shape.size()), parameters);
    if (!product_reaches(shape, regions.num_ranks())) {
        throw error(errc::invalid_route, "grid" + std::string(parameters) +
                                             " has too few places for " +
                                             std::to_string(regions.num_ranks()) + " ranks");
    }
    return std::unique_ptr<route>(
        new grid_route("grid" + std::string(parameters), regions, std::move(shape)));
}

std::unique_ptr<route> grid_route::make_hypercube(std::string_view parameters,
                                                  const topology& regions) {
    reject_parameters("hypercube", parameters);
    const auto last_rank = static_cast<unsigned>(regions.num_ranks() - 1);
    return std::unique_ptr<route>(new grid_route(
        "hypercube", regions,
        std::vector<rank_t>(static_cast<std::size_t>(std::bit_width(last_rank)), 2)));
}

rank_t grid_route::next_hop(rank_t here, rank_t destination, int stage,
                            const speaker_table&) const {
    return block_grid(regions().num_ranks(), shape_).next(here, destination, stage);
}

stage_partners grid_route::partners(rank_t here, int stage) const {
    const block_grid grid(regions().num_ranks(), shape_);
    return {grid.destinations(here, stage), grid.sources(here, stage)};
}

count_t grid_route::max_messages_per_rank() const {
    return block_grid(regions().num_ranks(), shape_).max_destinations();
}

}  // namespace crossdock
