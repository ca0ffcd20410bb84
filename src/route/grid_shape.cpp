#include "grid_shape.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "../base/throw_error.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

namespace {

constexpr int max_dimensions = 31;

void require_dimensions(count_t num_dimensions, std::string_view route_name) {
    if (num_dimensions <= max_dimensions) return;
    throw_error(errc::invalid_route, "{} has {} dimensions, more than {}", route_name,
                num_dimensions, max_dimensions);
}

// The bits it takes to tell the cells apart.
int num_bits(int num_cells) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(num_cells - 1)));
}

std::vector<int> increasing(int bits) {
    std::vector<int> shape;
    for (int exponent = 1; exponent <= bits; ++exponent) {
        shape.push_back(1 << exponent);
        bits -= exponent;
    }
    for (auto k = shape.end() - bits; k != shape.end(); ++k) *k *= 2;
    return shape;
}

std::vector<int> decreasing(int bits) {
    auto shape = increasing(bits);
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
        throw_error(errc::invalid_route, "{}: \"{}\" is not a positive number", route_name, text);
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

// At least as many, without overflowing on the way.
bool product_reaches(const std::vector<int>& shape, int num_cells) {
    count_t product = 1;
    for (const int k : shape) product = std::min<count_t>(product * k, num_cells);
    return product >= num_cells;
}

std::vector<int> balanced_shape(int num_cells, int num_dimensions) {
    const auto n = static_cast<std::size_t>(num_dimensions);
    if (std::has_single_bit(static_cast<unsigned>(num_cells))) {
        const int bits = std::countr_zero(static_cast<unsigned>(num_cells));
        std::vector<int> shape(n, 1 << (bits / num_dimensions));
        std::fill_n(shape.begin(), bits % num_dimensions, 2 << (bits / num_dimensions));
        return shape;
    }
    // From just below the root, which the floating-point power may miss by a little.
    int root = std::max(1, static_cast<int>(std::pow(num_cells, 1.0 / num_dimensions)) - 1);
    while (!product_reaches(std::vector<int>(n, root), num_cells)) ++root;
    std::vector<int> shape(n, root);
    for (auto k = shape.rbegin(); k != shape.rend(); ++k) {
        --*k;
        if (*k == 0 || !product_reaches(shape, num_cells)) {
            ++*k;
            break;
        }
    }
    return shape;
}

std::vector<int> hypercube_shape(int num_cells) {
    return std::vector<int>(static_cast<std::size_t>(num_bits(num_cells)), 2);
}

std::vector<int> increasing_shape(int num_cells) { return increasing(num_bits(num_cells)); }

std::vector<int> decreasing_shape(int num_cells) { return decreasing(num_bits(num_cells)); }

std::vector<int> hourglass_shape(int num_cells) {
    const int bits = num_bits(num_cells);
    return joined(decreasing(bits - bits / 2), increasing(bits / 2));
}

std::vector<int> inverse_hourglass_shape(int num_cells) {
    const int bits = num_bits(num_cells);
    return joined(increasing(bits - bits / 2), decreasing(bits / 2));
}

}  // namespace crossdock
