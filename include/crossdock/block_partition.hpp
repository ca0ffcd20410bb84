/// @file
/// @brief Block partitions: each rank owns consecutive rows, edges or entries.
#pragma once

#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A partition of n entries into contiguous parts, one for each rank, in the order of ranks.
///
///     blocks(5, 3)             0 0 1 1 2
///     from_sizes({0, 4, 1})    1 1 1 1 2
class block_partition {
  public:
    /// @brief Makes parts that are as equal as possible, larger ones first. Takes constant memory.
    /// @throws error(errc::invalid_argument)  `num_entries` < 0 or `num_ranks` < 1
    [[nodiscard]] static block_partition blocks(count_t num_entries, rank_t num_ranks);

    /// @brief Makes parts of given sizes. Takes memory for P + 1 numbers.
    /// @throws error(errc::invalid_argument)  there are no sizes, or one is negative
    /// @throws error(errc::count_overflow)    the sum of the sizes is more than a `count_t` holds
    [[nodiscard]] static block_partition from_sizes(const std::vector<count_t>& sizes);

    count_t num_entries() const noexcept { return num_entries_; }
    rank_t num_ranks() const noexcept { return num_ranks_; }

    /// @brief The first entry of a rank's part; for `rank` = P the number of entries.
    count_t first(rank_t rank) const noexcept {
        if (!firsts_.empty()) return firsts_[static_cast<std::size_t>(rank)];
        return rank * small_size_ + (rank < num_larger_ ? rank : num_larger_);
    }
    count_t size(rank_t rank) const noexcept { return first(rank + 1) - first(rank); }

    /// @brief The owner of an entry. Constant time for blocks, a binary search for parts of given sizes.
    /// @pre 0 <= index < num_entries()
    rank_t owner(count_t index) const noexcept {
        if (!firsts_.empty()) return search(index);
        if (num_entries_ > most_exact_)
            return static_cast<rank_t>(index < split_
                                           ? index / (small_size_ + 1)
                                           : num_larger_ + (index - split_) / small_size_);
        // From the middle of an entry, rounding cannot lead across a border.
        const auto middle = [](count_t i) { return static_cast<double>(i) + 0.5; };
        return index < split_
                   ? static_cast<rank_t>(middle(index) * per_larger_)
                   : num_larger_ + static_cast<rank_t>(middle(index - split_) * per_small_);
    }

    friend bool operator==(const block_partition&, const block_partition&) = default;

  private:
    block_partition() = default;
    rank_t search(count_t index) const noexcept;

    static constexpr count_t most_exact_ = count_t{1} << 48;

    count_t num_entries_ = 0;
    rank_t num_ranks_ = 1;
    count_t small_size_ = 0;
    rank_t num_larger_ = 0;
    count_t split_ = 0;      // where the larger parts end
    double per_larger_ = 0;  // one by the size, as multiplying is faster than dividing
    double per_small_ = 0;
    std::vector<count_t> firsts_;  // of given sizes
};

}  // namespace crossdock
