// Which requests of a rank leave it in a stage, and to whom.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <numeric>
#include <span>
#include <vector>

#include "batch_route.hpp"
#include "combined_requests.hpp"

namespace crossdock {

/// @brief The positions `first`, …, `first` + `length` - 1.
struct position_range {
    std::size_t first = 0;
    std::size_t length = 0;

    friend bool operator==(const position_range&, const position_range&) = default;
};

inline std::size_t total_length(std::span<const position_range> ranges) {
    return std::accumulate(ranges.begin(), ranges.end(), std::size_t{0},
                           [](std::size_t sum, const auto& one) { return sum + one.length; });
}

/// @brief Copies the items at the positions, one after the other.
inline void gather_ranges(std::span<const position_range> ranges, const void* items,
                          std::size_t item_bytes, std::byte* to) {
    for (const auto& [first, length] : ranges) {
        const std::size_t bytes = length * item_bytes;
        if (bytes > 0)
            std::memcpy(to, static_cast<const std::byte*>(items) + first * item_bytes, bytes);
        to += bytes;
    }
}

/// @brief Copies items that lie one after the other to the positions.
inline void scatter_ranges(std::span<const position_range> ranges, const std::byte* from,
                           std::size_t item_bytes, std::byte* items) {
    for (const auto& [first, length] : ranges) {
        const std::size_t bytes = length * item_bytes;
        if (bytes > 0) std::memcpy(items + first * item_bytes, from, bytes);
        from += bytes;
    }
}

/// @brief The positions of the requests that go to each destination of a stage, and of those that
/// stay.
///
///     rank 0 on cyclic:2x2, locality, an entry on each rank     held {0 1 2 3}
///     stage 0, with the destination 1                           to(0) {1} {3}   staying() {0} {2}
///
/// Invariant: every position is in one range, of one destination or of what stays; the ranges of
/// each ascend, and no two of them touch.
class requests_by_destination {
  public:
    requests_by_destination() = default;

    /// @brief Of requests with indices that ascend strictly: one range for each run of owners.
    /// Complexity: For each owner a binary search.
    template <class Index>
    static requests_by_destination of_sorted(const batch_route& routing, std::size_t stage,
                                             std::span<const Index> indices);

    /// @brief Of requests in any order: moves them to at most one range for each destination.
    /// @param memory  must outlive `held`
    /// Complexity: Linear in the requests.
    template <class Index>
    static requests_by_destination group(const batch_route& routing, std::size_t stage,
                                         combined_requests<Index>& held,
                                         std::pmr::memory_resource* memory);

    /// @brief Those for the stage's d-th destination.
    std::span<const position_range> to(std::size_t d) const { return ranges_[d]; }
    std::span<const position_range> staying() const { return ranges_.back(); }

  private:
    explicit requests_by_destination(std::size_t num_destinations)
        : ranges_(num_destinations + 1) {}
    void append(std::size_t d, const position_range& range);

    std::vector<std::vector<position_range>> ranges_;  // by destination; the last is what stays
};

}  // namespace crossdock
