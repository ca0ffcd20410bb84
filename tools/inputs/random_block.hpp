/// @file
/// @brief Random numbers that are a function of their place, so that any rank can compute any.
#pragma once

#include <array>
#include <cstdint>

namespace crossdock {

/// What the numbers are for; each use has a sequence of its own.
enum class random_use : std::uint64_t { ends, quadrants, scramble, division, places };

/// The place of a block of random numbers.
struct random_place {
    std::uint64_t seed;
    random_use use;
    std::uint64_t index;      ///< of an edge or a cell
    std::uint64_t block = 0;  ///< within it
};

/// 256 random bits; the same for the same place on all platforms.
std::array<std::uint64_t, 4> random_block(const random_place& place);

}  // namespace crossdock
