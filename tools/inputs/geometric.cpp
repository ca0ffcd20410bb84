#include "geometric.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "random_block.hpp"

namespace crossdock {

namespace {

constexpr int fraction_bits = 53;  // of a double in [0.5, 1)

double fraction_of(std::uint64_t bits) {
    return static_cast<double>(bits) / static_cast<double>(std::uint64_t{1} << fraction_bits);
}

// The probability of m heads in 2 m tosses, C(2 m, m) / 4^m; exact to 1e-13 from m = 128 on.
double probability_of_half(double m) {
    constexpr double one_over_pi = 0.31830988618379067154;
    const double series =
        1 + (-1 / 8.0 + (1 / 128.0 + (5 / 1024.0 - 21 / 32768.0 / m) / m) / m) / m;
    return series * std::sqrt(one_over_pi / m);
}

// How far from m the heads in 2 m tosses are: the first distance at which `draw` is used up.
count_t distance_from_half(count_t m, double draw) {
    double probability = probability_of_half(static_cast<double>(m));
    draw -= probability;
    probability *= 2;  // both sides
    count_t distance = 0;
    while (draw >= 0 && distance < m && probability > 0) {
        ++distance;
        probability *= static_cast<double>(m - distance + 1) / static_cast<double>(m + distance);
        draw -= probability;
    }
    return distance;
}

// The bits of a number at even places: 1011 gives 1000101.
std::uint64_t spread(std::uint64_t number) {
    number = (number | (number << 16)) & 0x0000FFFF0000FFFFU;
    number = (number | (number << 8)) & 0x00FF00FF00FF00FFU;
    number = (number | (number << 4)) & 0x0F0F0F0F0F0F0F0FU;
    number = (number | (number << 2)) & 0x3333333333333333U;
    return (number | (number << 1)) & 0x5555555555555555U;
}

// The way back; what is at odd places is ignored.
std::uint64_t gathered(std::uint64_t bits) {
    bits &= 0x5555555555555555U;
    bits = (bits | (bits >> 1)) & 0x3333333333333333U;
    bits = (bits | (bits >> 2)) & 0x0F0F0F0F0F0F0F0FU;
    bits = (bits | (bits >> 4)) & 0x00FF00FF00FF00FFU;
    bits = (bits | (bits >> 8)) & 0x0000FFFF0000FFFFU;
    return (bits | (bits >> 16)) & 0x00000000FFFFFFFFU;
}

std::uint64_t column_of(std::uint64_t code) { return gathered(code >> 1); }
std::uint64_t row_of(std::uint64_t code) { return gathered(code); }
std::uint64_t code_of(std::uint64_t column, std::uint64_t row) {
    return spread(column) << 1 | spread(row);
}

index_range intersection(const index_range& a, const index_range& b) {
    return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

double squared_distance(const point& a, const point& b) {
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

}  // namespace

count_t heads_among(count_t count, std::uint64_t seed, std::uint64_t node) {
    const auto words = random_block({seed, random_use::division, node});
    count_t heads = 0;
    if (count < 256) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto num_bits = std::clamp<count_t>(count - 64 * static_cast<count_t>(i), 0, 64);
            if (num_bits > 0) heads += std::popcount(words[i] >> (64 - num_bits));
        }
        return heads;
    }
    const count_t half = count / 2;
    const count_t distance = distance_from_half(half, fraction_of(words[0] >> 11));
    const auto last_toss = static_cast<count_t>(words[1] & 1);
    const bool is_above = (words[2] & 1) != 0;
    return half + (is_above ? distance : -distance) + (count % 2) * last_toss;
}

/// A rectangle of cells: those whose codes begin with the bits of `prefix`.
struct geometric_graph::tree_node {
    int unused_bits;  ///< of a cell's code, behind the prefix; 0 for a cell
    std::uint64_t prefix;
    index_range vertices;
};

geometric_graph::geometric_graph(count_t num_vertices, double radius, std::uint64_t seed)
    : num_vertices_(num_vertices), radius_(radius), seed_(seed), num_levels_(0) {
    // No more cells than points, and none narrower than the radius.
    const int most = std::countr_zero(std::bit_floor(static_cast<std::uint64_t>(num_vertices))) / 2;
    for (double width = 0.5; num_levels_ < most && width >= radius; width /= 2) ++num_levels_;
}

template <class Wanted>
void geometric_graph::descend(const tree_node& node, const Wanted& is_wanted,
                              std::vector<cell>& found) const {
    if (node.vertices.size() == 0 || !is_wanted(node)) return;
    if (node.unused_bits == 0) {
        found.push_back({node.prefix, node.vertices});
        return;
    }
    const std::uint64_t number =
        (std::uint64_t{1} << (2 * num_levels_ - node.unused_bits)) | node.prefix;
    const count_t middle = node.vertices.first + heads_among(node.vertices.size(), seed_, number);
    const int unused_bits = node.unused_bits - 1;
    descend({unused_bits, 2 * node.prefix, {node.vertices.first, middle}}, is_wanted, found);
    descend({unused_bits, 2 * node.prefix + 1, {middle, node.vertices.last}}, is_wanted, found);
}

std::vector<cell> geometric_graph::cells_of(const index_range& vertices) const {
    std::vector<cell> found;
    descend(
        {2 * num_levels_, 0, {0, num_vertices_}},
        [&](const tree_node& node) { return intersection(node.vertices, vertices).size() > 0; },
        found);
    return found;
}

// Those of the cells, by ascending code, that are not empty.
std::vector<cell> geometric_graph::cells_with(std::span<const std::uint64_t> codes) const {
    std::vector<cell> found;
    descend(
        {2 * num_levels_, 0, {0, num_vertices_}},
        [&](const tree_node& node) {
            const auto code =
                std::lower_bound(codes.begin(), codes.end(), node.prefix << node.unused_bits);
            return code != codes.end() && *code >> node.unused_bits == node.prefix;
        },
        found);
    return found;
}

std::vector<std::uint64_t> geometric_graph::later_neighbors(std::uint64_t code) const {
    const std::uint64_t num_columns = std::uint64_t{1} << num_levels_;
    std::vector<std::uint64_t> codes;
    for (const std::uint64_t right : {0u, 1u, 2u}) {
        for (const std::uint64_t up : {0u, 1u, 2u}) {
            // One to the left of column 0 wraps around to a number that is no column either.
            const std::uint64_t column = column_of(code) + right - 1;
            const std::uint64_t row = row_of(code) + up - 1;
            if (column >= num_columns || row >= num_columns) continue;
            if (code_of(column, row) > code) codes.push_back(code_of(column, row));
        }
    }
    std::sort(codes.begin(), codes.end());
    return codes;
}

// Exact, so that no point is rounded out of its cell.
point geometric_graph::point_in(std::uint64_t code, count_t place) const {
    const auto words =
        random_block({seed_, random_use::places, code, static_cast<std::uint64_t>(place)});
    const int bits_in_cell = fraction_bits - num_levels_;
    const auto coordinate = [&](std::uint64_t line, std::uint64_t word) {
        return fraction_of(line << bits_in_cell | word >> (64 - bits_in_cell));
    };
    return {coordinate(column_of(code), words[0]), coordinate(row_of(code), words[1])};
}

std::vector<point> geometric_graph::points_of(const index_range& vertices) const {
    std::vector<point> points;
    points.reserve(static_cast<std::size_t>(vertices.size()));
    for (const cell& one : cells_of(vertices)) {
        const index_range asked = intersection(one.vertices, vertices);
        for (count_t vertex = asked.first; vertex < asked.last; ++vertex) {
            points.push_back(point_in(one.code, vertex - one.vertices.first));
        }
    }
    return points;
}

/// Cells with their points, and who is close to whom among them.
class geometric_graph::neighborhood {
  public:
    neighborhood(const geometric_graph& graph, std::vector<cell> cells)
        : graph_(graph), cells_(std::move(cells)) {
        for (const cell& one : cells_) {
            first_point_.push_back(points_.size());
            for (count_t place = 0; place < one.vertices.size(); ++place) {
                points_.push_back(graph.point_in(one.code, place));
            }
        }
    }

    /// The edges from some vertices of one cell to higher ones.
    void append_edges(std::uint64_t code, const index_range& from, std::vector<edge>& edges) const {
        std::vector<std::size_t> others{find(code)};
        for (const std::uint64_t neighbor : graph_.later_neighbors(code)) {
            const std::size_t found = find(neighbor);
            if (found < cells_.size() && cells_[found].code == neighbor) others.push_back(found);
        }
        for (count_t vertex = from.first; vertex < from.last; ++vertex) {
            for (const std::size_t other : others) {
                append_close(vertex, point_of(others[0], vertex), other, edges);
            }
        }
    }

  private:
    std::size_t find(std::uint64_t code) const {
        const auto found = std::lower_bound(
            cells_.begin(), cells_.end(), code,
            [](const cell& one, std::uint64_t sought) { return one.code < sought; });
        return static_cast<std::size_t>(found - cells_.begin());
    }

    const point& point_of(std::size_t i, count_t vertex) const {
        return points_[first_point_[i] +
                       static_cast<std::size_t>(vertex - cells_[i].vertices.first)];
    }

    void append_close(count_t vertex, const point& place, std::size_t other,
                      std::vector<edge>& edges) const {
        const index_range& candidates = cells_[other].vertices;
        const count_t first = std::max(candidates.first, vertex + 1);
        for (count_t candidate = first; candidate < candidates.last; ++candidate) {
            const double squared = squared_distance(place, point_of(other, candidate));
            if (squared < graph_.radius_ * graph_.radius_) edges.push_back({vertex, candidate});
        }
    }

    const geometric_graph& graph_;
    std::vector<cell> cells_;               ///< by ascending code
    std::vector<std::size_t> first_point_;  ///< of every cell
    std::vector<point> points_;
};

std::vector<edge> geometric_graph::edges_from(const index_range& vertices) const {
    const std::vector<cell> own = cells_of(vertices);
    std::vector<std::uint64_t> codes;
    for (const cell& one : own) {
        codes.push_back(one.code);
        const auto others = later_neighbors(one.code);
        codes.insert(codes.end(), others.begin(), others.end());
    }
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    const neighborhood near(*this, cells_with(codes));
    std::vector<edge> edges;
    for (const cell& one : own) {
        near.append_edges(one.code, intersection(one.vertices, vertices), edges);
    }
    return edges;
}

}  // namespace crossdock
