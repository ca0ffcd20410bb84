/// @file
/// @brief How far a message, or its receive, is from the front of its rank's queue.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief What waits to be found, of all ranks, each rank's in the order in which it came.
///
/// A Fenwick tree for each rank, all in one array.
class search_queues {
  public:
    /// @param lengths  how many entries each rank's queue has over time, at most
    explicit search_queues(const std::vector<std::uint32_t>& lengths);

    /// @brief Adds an entry at the end of a rank's queue.
    /// @return its place, for `take`
    std::uint32_t append(rank_t rank);

    /// @brief Removes an entry.
    /// @return how many were before it
    std::uint32_t take(rank_t rank, std::uint32_t place);

  private:
    struct queue {
        std::size_t first;
        std::uint32_t length;
        std::uint32_t num_appended = 0;
    };

    void add(const queue& of, std::uint32_t place, std::int32_t amount);

    std::vector<queue> queues_;
    std::vector<std::int32_t> sums_;
};

}  // namespace crossdock
