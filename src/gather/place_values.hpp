/// @file
/// @brief Values between a user's arrays and the work array.
#pragma once

#include "crossdock/detail/gather/value_arrays.hpp"
#include "gather_lists.hpp"

namespace crossdock {

/// @brief Combines the copies that give in the work array.
/// @param work  items of `values.item_bytes()`
void gather_places(const value_arrays& values, const place_lists& lists, std::byte* work);

/// @brief Copies results to their places.
void scatter_places(const value_arrays& values, const copy_list& results, const std::byte* work);

}  // namespace crossdock
