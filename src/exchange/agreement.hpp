/// @file
/// @brief What all ranks of an exchange agree on in passing.
#pragma once

#include <algorithm>
#include <array>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Whether a rank has a fault, the numbers that must be equal on all ranks, which are the items
/// of a message (-1: any) and the bytes of an item, and bits of which all hear those that all have.
struct error_vote {
    bool has_fault = false;
    std::array<count_t, 2> shape{};
    std::uint32_t bits = 0;
};

/// @brief The votes of some ranks. A vote may be merged any number of times, so that messages can
/// carry it along every path.
struct agreement {
    std::int32_t has_fault = 0;
    std::uint32_t common_bits = 0;
    std::array<count_t, 2> least{};
    std::array<count_t, 2> greatest{};

    agreement() = default;
    explicit agreement(const error_vote& own)
        : has_fault(own.has_fault ? 1 : 0),
          common_bits(own.bits),
          least(own.shape),
          greatest(own.shape) {}

    void merge(const agreement& other) {
        has_fault = std::max(has_fault, other.has_fault);
        common_bits &= other.common_bits;
        for (std::size_t i = 0; i < least.size(); ++i) {
            least[i] = std::min(least[i], other.least[i]);
            greatest[i] = std::max(greatest[i], other.greatest[i]);
        }
    }

    bool is_good() const { return has_fault == 0 && least == greatest; }
};

/// @brief The votes of all ranks as words that a reduction sums.
///
/// Numbers c of P ranks are equal if P sum(c^2) = sum(c)^2. Words wrap around, so that the numbers
/// are scrambled first; a difference that escapes even so escapes all ranks.
class summed_votes {
  public:
    using words = std::array<std::uint64_t, 6>;

    /// @brief The word that is to sum to 0 besides: messages sent less those expected.
    static constexpr std::size_t balance = 1;

    static words of(const error_vote& own, count_t own_balance = 0) {
        const auto a = scrambled(own.shape[0]);
        const auto b = scrambled(own.shape[1]);
        return {
            own.has_fault ? 1U : 0U, static_cast<std::uint64_t>(own_balance), a, a * a, b, b * b};
    }

    static bool is_good(const std::uint64_t* sums, rank_t num_ranks) {
        const auto p = static_cast<std::uint64_t>(num_ranks);
        return sums[0] == 0 && sums[balance] == 0 && p * sums[3] == sums[2] * sums[2] &&
               p * sums[5] == sums[4] * sums[4];
    }

  private:
    // Equal numbers stay equal, and small differences reach all bits.
    static std::uint64_t scrambled(count_t number) {
        auto bits = static_cast<std::uint64_t>(number) + 0x9E3779B97F4A7C15U;
        bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
        bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
        return bits ^ (bits >> 31U);
    }
};

}  // namespace crossdock
