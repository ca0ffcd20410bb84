#include "grid_shape.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "grid.hpp"

namespace crossdock {

namespace {

constexpr int max_dimensions = 31;

void require_dimensions(count_t num_dimensions, std::string_view route_name) {
    if (num_dimensions <= max_dimensions) return;
    throw error(errc::invalid_route,
                std::string(route_name) + " has " + std::to_string(num_dimensions) +
                    " dimensions, more than " + std::to_string(max_dimensions));
}

// The bits it takes to tell the cells apart.
int num_bits(int num_cells) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(num_cells - 1)));
}

std::vector<int> increase(int bits) {
    std::vector<int> shape;
    for (int exponent = 1; exponent <= bits; ++exponent) {
        shape.push_back(1 << exponent);
        bits -= exponent;
    }
    for (auto k = shape.end() - bits; k != shape.end(); ++k) *k *= 2;
    return shape;
}

std::vector<int> decrease(int bits) {
    auto shape = increase(bits);
    std::ranges::reverse(shape);
    return shape;
}

std::vector<int> joined(std::vector<int> first, const std::vector<int>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

}  // namespace

int parse_positive(std::string_view text, std::string_view route_name) {
    int value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size() || value < 1) {
        throw error(errc::invalid_route, std::string(route_name) + ": \"" + std::string(text) +
                                             "\" is not a positive number");
    }
    return value;
}

std::vector<int> parse_shape(std::string_view text, std::string_view route_name) {
    std::vector<int> shape;
    while (true) {
        const auto cross = std::min(text.find('x'), text.size());
        shape.push_back(parse_positive(text.substr(0, cross), route_name));
        if (cross == text.size()) break;
        text.remove_prefix(cross + 1);
    }
    require_dimensions(std::ssize(shape), route_name);
    return shape;
}

std::vector<int> parse_balanced_shape(std::string_view text, std::string_view route_name,
                                      int num_cells) {
    const int num_dimensions = parse_positive(text, route_name);
    require_dimensions(num_dimensions, route_name);
    return balanced_shape(num_cells, num_dimensions);
}

std::vector<int> hypercube_shape(int num_cells) {
    return std::vector<int>(static_cast<std::size_t>(num_bits(num_cells)), 2);
}

std::vector<int> increasing_shape(int num_cells) { return increase(num_bits(num_cells)); }

std::vector<int> decreasing_shape(int num_cells) { return decrease(num_bits(num_cells)); }

std::vector<int> hourglass_shape(int num_cells) {
    const int bits = num_bits(num_cells);
    return joined(decrease(bits - bits / 2), increase(bits / 2));
}

std::vector<int> inverse_hourglass_shape(int num_cells) {
    const int bits = num_bits(num_cells);
    return joined(increase(bits - bits / 2), decrease(bits / 2));
}

}  // namespace crossdock
