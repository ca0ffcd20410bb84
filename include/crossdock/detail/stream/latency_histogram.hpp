/// @file
/// @brief How long items took, in steps of about three per cent.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Counts times in classes whose width is 1/32 of their power of two of nanoseconds.
///
/// | nanoseconds | width of a class |
/// |---|---|
/// | 0 to 63 | 1 |
/// | 64 to 127 | 2 |
/// | 2^k to 2^(k+1) - 1 | 2^(k-5) |
///
/// @par Thread safety
/// None; add up one for each thread.
class latency_histogram {
  public:
    /// @brief One class that is not empty, for plots.
    struct bucket {
        double least_seconds;
        double most_seconds;  ///< exclusive
        std::int64_t count;

        friend bool operator==(const bucket&, const bucket&) = default;
    };

    /// @param nanoseconds  below 0 counts as 0: clocks of two ranks may disagree by their error
    void add(std::int64_t nanoseconds) noexcept;

    /// @brief Adds all counts of `other`.
    void add(const latency_histogram& other) noexcept;

    std::int64_t count() const noexcept { return count_; }

    /// @brief The largest time, exactly. 0 if empty.
    double max_seconds() const noexcept { return 1e-9 * static_cast<double>(max_nanoseconds_); }

    /// @brief The time that a share of all does not exceed: the upper end of its class, or the
    /// maximum if that is less. 0 if empty.
    /// @param share  in [0, 1]
    double quantile_seconds(double share) const noexcept;

    /// @brief The classes that are not empty, from the shortest time.
    std::vector<bucket> buckets() const;

    /// @brief All counts, then the maximum: words that may be summed and maximised over ranks.
    static constexpr int num_classes = 64 + 32 * 57;
    const std::array<std::int64_t, num_classes>& counts() const noexcept { return counts_; }
    std::int64_t max_nanoseconds() const noexcept { return max_nanoseconds_; }

  private:
    static int class_of(std::int64_t nanoseconds) noexcept;
    static std::uint64_t least_of(int number) noexcept;

    std::array<std::int64_t, num_classes> counts_{};
    std::int64_t count_ = 0;
    std::int64_t max_nanoseconds_ = 0;
};

}  // namespace crossdock
