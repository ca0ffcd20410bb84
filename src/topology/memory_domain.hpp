/// @file
/// @brief The ranks that share memory with each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../base/strong_index.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief A rank in its memory domain, and the memory that the others can use of it.
using buffer_number = strong_index<struct buffer_kind, int>;

/// @brief Stands for the user's arrays where otherwise a buffer's number stands, or for no rank.
inline constexpr buffer_number no_buffer{-1};

/// @brief Ranks of a communicator that share memory. Each has a *number* among them.
///
///     ranks 4 5 6 7 of a node    numbers 0 1 2 3
class memory_domain {
  public:
    /// @brief A domain of one rank.
    explicit memory_domain(rank_t here) : ranks_{here} {}

    /// @brief The domain of a rank.
    /// @param nodes  each of its regions is one
    memory_domain(const topology& nodes, rank_t here) {
        const region_t node = nodes.region_of(here);
        for (rank_t i = 0; i < nodes.region_size(node); ++i)
            ranks_.push_back(nodes.rank_at(node, i));
        here_ = number_of(here);
    }

    int size() const noexcept { return static_cast<int>(ranks_.size()); }
    bool is_shared() const noexcept { return ranks_.size() > 1; }
    buffer_number here() const noexcept { return here_; }
    rank_t rank_at(buffer_number number) const {
        return ranks_[static_cast<std::size_t>(number.value())];
    }

    /// @brief `no_buffer` for a rank of another domain.
    buffer_number number_of(rank_t rank) const noexcept {
        const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
        if (found == ranks_.end() || *found != rank) return no_buffer;
        return buffer_number(static_cast<int>(found - ranks_.begin()));
    }
    bool has(rank_t rank) const noexcept { return number_of(rank) != no_buffer; }

  private:
    std::vector<rank_t> ranks_;
    buffer_number here_;
};

}  // namespace crossdock
