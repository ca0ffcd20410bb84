// What requests of one kind carry, and how they are combined.
#pragma once

#include <cstddef>

#include "crossdock/detail/array/combining.hpp"
#include "crossdock/detail/array/value_operation.hpp"

namespace crossdock {

/// @brief The writes, the updates or the reads of a batch. Equal on all ranks.
///
/// Requests pass the hops 0 … S on a route of S stages; hop S is the owner's.
struct request_traits {
    combining_options combine;
    const value_operation* operation = nullptr;  ///< of writes and updates
    std::size_t reply_bytes = 0;                 ///< of a value that is read; 0: nothing comes back

    bool has_values() const noexcept { return operation != nullptr; }
    std::size_t value_bytes() const noexcept { return has_values() ? operation->value_bytes() : 0; }

    /// @brief Whether a request carries the position where its sender wants the reply.
    bool has_return_slots() const noexcept {
        return reply_bytes > 0 && (combine.strategy == combining::envelope_hash ||
                                   combine.strategy == combining::envelope_sort);
    }

    /// @brief How equal indices are found at a hop.
    combining strategy_at(std::size_t hop, std::size_t num_stages) const noexcept {
        if (hop == num_stages)
            return combine.strategy == combining::none ? combining::sort : combine.strategy;
        const bool is_wanted = hop == 0 ? combine.locally : combine.on_the_way;
        return is_wanted ? combine.strategy : combining::none;
    }

    /// @brief Whether the indices of a hop ascend strictly when its requests leave.
    bool is_sorted_at(std::size_t hop, std::size_t num_stages) const noexcept {
        const auto strategy = strategy_at(hop, num_stages);
        return strategy == combining::sort || strategy == combining::envelope_sort ||
               strategy == combining::search_tree;
    }

    /// @brief Whether a hop combines what it takes: the owner only where its operation needs it.
    bool is_combined_at(std::size_t hop, std::size_t num_stages) const noexcept {
        return hop < num_stages || (has_values() && operation->combines_at_owner());
    }
};

}  // namespace crossdock
