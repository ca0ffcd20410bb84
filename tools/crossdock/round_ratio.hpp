/// @file
/// @brief How many times as long one contender takes as another, and whether that is a gain.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

enum class decision {
    gain,       ///< at least 5 %, even at the upper end of the interval
    no_gain,    ///< less than 5 %, even at its lower end
    undecided,  ///< neither, or there is no interval
};

/// @brief "gain", "no_gain" or "undecided".
const char* to_string(decision found);

/// @brief The times of a contender divided by those of another in the same rounds.
struct round_ratio {
    /// @brief Where the median of endlessly many rounds lies, with a confidence of at least 95 %.
    struct interval {
        double lower = 0;
        double upper = 0;
    };

    double median = 1;
    std::optional<interval> confident;  ///< unset: there are fewer than 6 rounds
    decision found = decision::undecided;

    /// @brief "0.83 (0.80 to 0.86)"; "0.83" without an interval.
    std::string text() const;
    /// @brief {"median", "lower", "upper", "decision"}; the bounds are null without an interval.
    json to_json() const;
};

/// @brief Compares two contenders that took their turn in every round.
///
/// What disturbs a round disturbs both, and their ratio less. The interval is that of the sign test: it assumes nothing
/// about the distribution of the ratios, but that rounds are independent.
///
///     seconds    1 2 3 4 5 6     ratios   1/2 ... 1/2     median 0.5, interval 0.5 to 0.5: a gain
///     reference  2 4 6 8 10 12
///
/// @param seconds    of each round
/// @param reference  of each round, as many, at least one
round_ratio compare_rounds(std::span<const double> seconds, std::span<const double> reference);

}  // namespace crossdock::tool
