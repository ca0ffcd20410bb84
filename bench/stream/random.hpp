/// @file
/// @brief Random numbers that cost about a nanosecond, the same for all contenders.
#pragma once

#include <cstdint>

namespace crossdock::bench::streaming {

/// @brief Mixes all bits of a number (splitmix64).
constexpr std::uint64_t mix(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
}

/// @brief A series of numbers that depends on a seed and the number of a worker.
class random_series {
  public:
    random_series(std::uint64_t seed, std::uint64_t series) noexcept
        : state_(mix(seed + mix(series + 1))) {}

    /// @brief Evenly among 0...limit - 1.
    std::uint64_t below(std::uint64_t limit) noexcept {
        state_ += 0x9E3779B97F4A7C15ULL;
        __extension__ using wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<wide>(mix(state_)) * limit) >> 64);
    }

  private:
    std::uint64_t state_;
};

}  // namespace crossdock::bench::streaming
