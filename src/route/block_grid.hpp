/// @file
/// @brief The grid that `grid` lays over ranks and `locality` over regions.
#pragma once

#include <span>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Consecutive cells [first, first + size) of a `block_grid`.
struct cell_block {
    int first;
    int size;
};

/// @brief Cells 0, 1, … cut into K1 blocks of nearly equal size, each block into K2, and so on.
///
/// What is at one cell for another travels dimension by dimension: in dimension t from its block of
/// level t + 1 to the destination's, to the cell with the same place there, modulo the block's
/// size.
///
///     7 cells, shape 3x3:   {0 1 2} {3 4} {5 6}     2 to 6:   2 -> 5 -> 6
class block_grid {
  public:
    /// @param shape  K1, K2, …, with a product of at least `num_cells`; borrowed
    block_grid(int num_cells, std::span<const int> shape) : num_cells_(num_cells), shape_(shape) {}

    /// @brief Where what is at `here` for `destination` goes in a dimension; `here` if it stays.
    int next(int here, int destination, int dimension) const;

    /// @brief The cells that anything at `here` may go to in a dimension, ascending.
    std::vector<int> destinations(int here, int dimension) const;

    /// @brief The cells that anything may come from to `here` in a dimension, ascending.
    std::vector<int> sources(int here, int dimension) const;

    /// @brief Which of the blocks that its block is cut into in a dimension a cell is in.
    ///
    /// Where all blocks of a level are equally large, what travels takes a hop in each dimension in
    /// which these differ.
    int coordinate(int cell, int dimension) const;

    /// @brief No cell has more destinations than this in all dimensions together.
    count_t max_destinations() const;

  private:
    cell_block block_of(int cell, int level) const;
    template <class Visit>
    void for_each_sibling(int here, int dimension, Visit visit) const;

    int num_cells_;
    std::span<const int> shape_;
};

}  // namespace crossdock
