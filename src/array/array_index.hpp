// Indices of an array, as wide as they need to be.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>

#include "../base/pooled_resource.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Calls `use` with a number of the narrowest type that holds all indices.
template <class Use>
auto with_index_type(count_t num_entries, Use&& use) {
    return num_entries <= count_t{1} << 32 ? use(std::uint32_t{}) : use(std::uint64_t{});
}

/// @throws error(errc::index_out_of_range)  an index is outside [0, num_entries)
void check_indices(std::span<const count_t> indices, count_t num_entries, rank_t rank);

/// @brief Checks and narrows.
/// @throws as `check_indices`
template <class Index>
raw_vector<Index> to_indices(std::span<const count_t> indices, count_t num_entries, rank_t rank,
                             std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

}  // namespace crossdock
