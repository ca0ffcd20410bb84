/// @file
/// @brief R-MAT: an edge falls into a quadrant of the adjacency matrix, then of that, and so on.
#pragma once

#include <cstdint>

#include "generate.hpp"

namespace crossdock {

/// The edges of one R-MAT graph, by their index.
class rmat_graph {
  public:
    /// What a quadrant is drawn with; [0] joins low vertices with low, [1] low with high, [2] high
    /// with low, [3] high with high.
    static constexpr double probabilities[4] = {0.57, 0.19, 0.19, 0.05};

    rmat_graph(count_t num_vertices, std::uint64_t seed);

    /// Edge `index`, its ends in the order of the recursion: low ones have most edges.
    edge unscrambled(count_t index) const;

    /// The vertex's number in the graph: a bijection on [0, num_vertices).
    count_t scrambled(count_t vertex) const;

  private:
    std::uint64_t scrambled_within_power(std::uint64_t vertex) const;

    count_t num_vertices_;
    int num_levels_;  ///< the smallest L with num_vertices <= 2^L
    std::uint64_t seed_;
    std::uint64_t shift_;
    std::uint64_t factors_[2];
};

}  // namespace crossdock
