/// @file
/// @brief A hash of words that finds every change of one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

// Words in four sums that do not wait for each other.
class word_hash {
  public:
    template <class Word>
    void add(std::span<Word> words) noexcept {
        mix(0, words.size());
        std::size_t i = 0;
        for (; i + num_sums <= words.size(); i += num_sums) {
            for (std::size_t sum = 0; sum < num_sums; ++sum)
                mix(sum, static_cast<std::uint64_t>(words[i + sum]));
        }
        for (; i < words.size(); ++i) mix(0, static_cast<std::uint64_t>(words[i]));
    }

    std::uint64_t value() noexcept {
        for (std::size_t sum = 1; sum < num_sums; ++sum) mix(0, sums_[sum]);
        return sums_[0];
    }

  private:
    static constexpr std::size_t num_sums = 4;

    // One to one in the word, and in the sum so far.
    void mix(std::size_t sum, std::uint64_t word) noexcept {
        auto& bits = sums_[sum];
        bits = (bits ^ word) * 0x9E3779B97F4A7C15U;
        bits ^= bits >> 29U;
    }

    std::array<std::uint64_t, num_sums> sums_{1, 2, 3, 4};
};

}  // namespace crossdock
