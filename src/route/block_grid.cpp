#include "block_grid.hpp"

namespace crossdock {

namespace {

bool contains(const cell_block& block, int cell) {
    return cell >= block.first && cell < block.first + block.size;
}

// Of the `num_parts` parts of a block, the first of which are one longer, the one with `cell`.
cell_block part_of(const cell_block& block, int num_parts, int cell) {
    const int base = block.size / num_parts;
    const int longer = block.size % num_parts;
    const int end_of_longer = longer * (base + 1);
    const int place = cell - block.first;
    if (place < end_of_longer) return {block.first + place / (base + 1) * (base + 1), base + 1};
    return {block.first + end_of_longer + (place - end_of_longer) / base * base, base};
}

}  // namespace

cell_block block_grid::block_of(int cell, int level) const {
    cell_block block{0, num_cells_};
    for (const int num_parts : shape_.first(static_cast<std::size_t>(level)))
        block = part_of(block, num_parts, cell);
    return block;
}

// Calls `visit` for the other blocks that the block of `here` was cut from in a dimension, in
// order.
template <class Visit>
void block_grid::for_each_sibling(int here, int dimension, Visit visit) const {
    const cell_block home = block_of(here, dimension);
    const int num_parts = shape_[static_cast<std::size_t>(dimension)];
    for (int cell = home.first; cell < home.first + home.size;) {
        const cell_block part = part_of(home, num_parts, cell);
        if (!contains(part, here)) visit(part);
        cell += part.size;
    }
}

int block_grid::next(int here, int destination, int dimension) const {
    const cell_block home = block_of(destination, dimension);
    if (!contains(home, here)) return here;  // nothing for `destination` comes here
    const int num_parts = shape_[static_cast<std::size_t>(dimension)];
    const cell_block target = part_of(home, num_parts, destination);
    if (contains(target, here)) return here;
    return target.first + (here - part_of(home, num_parts, here).first) % target.size;
}

std::vector<int> block_grid::destinations(int here, int dimension) const {
    const int place = here - block_of(here, dimension + 1).first;
    std::vector<int> result;
    for_each_sibling(here, dimension, [&](const cell_block& sibling) {
        result.push_back(sibling.first + place % sibling.size);
    });
    return result;
}

std::vector<int> block_grid::sources(int here, int dimension) const {
    const cell_block own = block_of(here, dimension + 1);
    std::vector<int> result;
    for_each_sibling(here, dimension, [&](const cell_block& sibling) {
        for (int place = here - own.first; place < sibling.size; place += own.size)
            result.push_back(sibling.first + place);
    });
    return result;
}

int block_grid::coordinate(int cell, int dimension) const {
    const cell_block home = block_of(cell, dimension);
    const int num_parts = shape_[static_cast<std::size_t>(dimension)];
    const int place = part_of(home, num_parts, cell).first - home.first;
    const int base = home.size / num_parts;
    const int longer = home.size % num_parts;
    return place <= longer * (base + 1) ? place / (base + 1) : (place - longer) / base;
}

count_t block_grid::max_destinations() const {
    count_t sum = 0;
    for (const int num_parts : shape_) sum += num_parts - 1;
    return sum;
}

}  // namespace crossdock
