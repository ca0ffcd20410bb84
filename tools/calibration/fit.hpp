/// @file
/// @brief Lines through measured times, of which some are far off.
#pragma once

#include <span>
#include <vector>

namespace crossdock {

/// @brief How long an amount of something took: bytes, messages or items.
struct timed_amount {
    double amount = 0;
    double seconds = 0;
};

/// @brief seconds = start_seconds + amount x slope_seconds.
struct cost_line {
    double start_seconds = 0;
    double slope_seconds = 0;

    double at(double amount) const noexcept { return start_seconds + amount * slope_seconds; }
};

/// @brief A line, and by how much of its measured time the middle sample is off it.
struct line_fit {
    cost_line line;
    double relative_error = 0;  ///< median
};

/// @brief The line that is off its samples by the least sum of relative errors.
///
/// Times that span orders of magnitude count alike; a sample that is far off pulls the line no more than
/// one that is a little off. There always is such a line through two samples, or through one at a limit.
/// @param samples        in any order; `seconds` > 0
/// @param least_start    the start is no less; the slope is never less than 0
/// @throws error(errc::invalid_argument)  there is no sample
/// @par Complexity
/// Time O(n^3) for n samples.
line_fit fit_line(std::span<const timed_amount> samples, double least_start = 0);

/// @brief Two lines: one for small amounts, one for large.
struct protocols_fit {
    cost_line eager;
    cost_line rendezvous;
    double last_eager_amount = 0;  ///< the largest sample's, where one line does as well
    double relative_error = 0;     ///< median
};

/// @brief Finds where MPI changes its protocol: where two lines fit best.
///
/// Rendezvous starts no sooner than eager does. Where the second line saves less than a fifth of the sum
/// of errors, it is the first one.
/// @param samples  as for `fit_line`
/// @throws error(errc::invalid_argument)  there is no sample
protocols_fit fit_protocols(std::span<const timed_amount> samples);

/// @brief The time that a quarter of the rounds stays below: what a quiet machine takes, without luck.
/// @throws error(errc::invalid_argument)  there is none
double lower_quartile(std::vector<double> seconds);

}  // namespace crossdock
