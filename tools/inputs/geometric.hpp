/// @file
/// @brief Random points in the unit square, cell by cell, and those that are close.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generate.hpp"

namespace crossdock {

/// Binomially distributed: the heads among `count` tosses of a coin. `node` chooses the tosses.
count_t heads_among(count_t count, std::uint64_t seed, std::uint64_t node);

/// A square of the grid and the vertices in it.
struct cell {
    std::uint64_t code;  ///< column and row, bit by bit in turn: the order along the curve
    index_range vertices;
};

/// The points of a random geometric graph.
///
/// The grid has 4^L cells, wider than the radius. Halving the square again and again, first by
/// columns, is a binary tree with the cells as leaves in the order of their codes; at every node a
/// binomial draw says how many of its points lie in which half. Any rank can thus compute any cell.
class geometric_graph {
  public:
    geometric_graph(count_t num_vertices, double radius, std::uint64_t seed);

    /// The edges from these vertices to higher ones, ascending.
    std::vector<edge> edges_from(const index_range& vertices) const;

    std::vector<point> points_of(const index_range& vertices) const;

  private:
    struct tree_node;
    class neighborhood;

    template <class Wanted>
    void descend(const tree_node& node, const Wanted& is_wanted, std::vector<cell>& found) const;
    std::vector<cell> cells_of(const index_range& vertices) const;
    std::vector<cell> cells_with(std::span<const std::uint64_t> codes) const;

    std::vector<std::uint64_t> later_neighbors(std::uint64_t code) const;
    point point_in(std::uint64_t code, count_t place) const;

    count_t num_vertices_;
    double radius_;
    std::uint64_t seed_;
    int num_levels_;  ///< L
};

}  // namespace crossdock
