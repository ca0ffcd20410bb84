#include "rmat.hpp"

#include <bit>

#include "random_block.hpp"

namespace crossdock {

namespace {

constexpr int draws_per_block = 8;  // of 32 bits; those beyond the last level are dropped

// 1 unless the draw is below the probability. A comparison would become a branch, which at random
// is mispredicted; the sign of a difference does not.
std::uint64_t reaches(double probability, std::uint64_t draw) {
    return 1 - ((draw - static_cast<std::uint64_t>(probability * 4294967296.0)) >> 63);
}

// One level: quadrants 2 and 3 are the lower half of the rows, 1 and 3 the right one of the columns.
void descend(std::uint64_t draw, std::uint64_t& from, std::uint64_t& to) {
    constexpr auto& p = rmat_graph::probabilities;
    const std::uint64_t is_below = reaches(p[0] + p[1], draw);
    const std::uint64_t quadrant =
        reaches(p[0], draw) + is_below + reaches(p[0] + p[1] + p[2], draw);
    from = 2 * from + is_below;
    to = 2 * to + (quadrant & 1);
}

std::uint64_t reversed(std::uint64_t bits) {
    bits = ((bits >> 1) & 0x5555555555555555U) | ((bits & 0x5555555555555555U) << 1);
    bits = ((bits >> 2) & 0x3333333333333333U) | ((bits & 0x3333333333333333U) << 2);
    bits = ((bits >> 4) & 0x0F0F0F0F0F0F0F0FU) | ((bits & 0x0F0F0F0F0F0F0F0FU) << 4);
    bits = ((bits >> 8) & 0x00FF00FF00FF00FFU) | ((bits & 0x00FF00FF00FF00FFU) << 8);
    bits = ((bits >> 16) & 0x0000FFFF0000FFFFU) | ((bits & 0x0000FFFF0000FFFFU) << 16);
    return (bits >> 32) | (bits << 32);
}

}  // namespace

rmat_graph::rmat_graph(count_t num_vertices, std::uint64_t seed)
    : num_vertices_(num_vertices),
      num_levels_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(num_vertices - 1)))),
      seed_(seed) {
    const auto words = random_block({seed, random_use::scramble, 0});
    shift_ = words[0] + words[1];
    factors_[0] = words[0] | 0x4519840211493211U;
    factors_[1] = words[1] | 0x3050852102C843A5U;
}

edge rmat_graph::unscrambled(count_t index) const {
    random_place place{seed_, random_use::quadrants, static_cast<std::uint64_t>(index)};
    while (true) {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        int level = 0;
        for (; level < num_levels_; level += draws_per_block) {
            for (const std::uint64_t word : random_block(place)) {
                descend(word >> 32, from, to);
                descend(word & 0xFFFFFFFFU, from, to);
            }
            ++place.block;
        }
        const edge drawn{static_cast<count_t>(from >> (level - num_levels_)),
                         static_cast<count_t>(to >> (level - num_levels_))};
        if (drawn.from < num_vertices_ && drawn.to < num_vertices_) return drawn;
    }
}

// As Graph500's reference does it. The factors are odd, so each of the two steps is a bijection on
// the lowest bits, whose order it then reverses: the low ones decide about the high ones.
std::uint64_t rmat_graph::scrambled_within_power(std::uint64_t vertex) const {
    const int unused_bits = 64 - num_levels_;
    vertex = reversed((vertex + shift_) * factors_[0]) >> unused_bits;
    return reversed(vertex * factors_[1]) >> unused_bits;
}

// A number outside is scrambled on until it is inside; the way back is as unique, so this is a
// bijection too.
count_t rmat_graph::scrambled(count_t vertex) const {
    if (num_levels_ == 0) return vertex;
    auto number = static_cast<std::uint64_t>(vertex);
    do {
        number = scrambled_within_power(number);
    } while (number >= static_cast<std::uint64_t>(num_vertices_));
    return static_cast<count_t>(number);
}

}  // namespace crossdock
