/// @file
/// @brief How far a message's receive is from the front of its rank's queue.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/base/types.hpp"

namespace crossdock {

/// @brief The receives that wait, of all ranks, each rank's in the order in which they were posted.
///
/// A Fenwick tree for each rank, all in one array.
class waiting_receives {
  public:
    /// @param num_receives  of each rank
    explicit waiting_receives(const std::vector<std::uint32_t>& num_receives);

    /// @brief Adds a receive at the end of a rank's queue.
    /// @return its place, for `take`
    std::uint32_t post(rank_t rank);

    /// @brief Removes a receive.
    /// @return how many were before it
    std::uint32_t take(rank_t rank, std::uint32_t place);

  private:
    struct queue {
        std::size_t first;
        std::uint32_t length;
        std::uint32_t num_posted = 0;
    };

    void add(const queue& of, std::uint32_t place, std::int32_t amount);

    std::vector<queue> queues_;
    std::vector<std::int32_t> sums_;
};

}  // namespace crossdock
