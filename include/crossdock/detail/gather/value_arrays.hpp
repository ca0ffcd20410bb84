/// @file
/// @brief The arrays that a gather-scatter reads and writes, whatever their type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Where items lie, in values: `width` of them together, and `step` from one item to the
/// next.
struct value_layout {
    count_t step = 1;
    count_t width = 1;
};

/// @brief Combines items of one array into another as a list says, value by value. Items may lie
/// apart by different steps; both are as wide as `from`.
using combine_values = std::function<void(std::byte* to, count_t to_step, const std::byte* from,
                                          value_layout from_layout, const copy_list& list)>;

/// @brief to[j][c] = op(to[j][c], from[i][c]) for every pair (i, j) of `list` and every c, in
/// order.
template <class T, class Op>
void combine_in_steps(T* to, count_t to_step, const T* from, value_layout from_layout,
                      const copy_list& list, Op& op) {
    if (from_layout.width == 1 && from_layout.step == 1 && to_step == 1)
        return combine_items(to, from, list, op);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        from_piece.with_lookup([&](auto from_index) {
            to_piece.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to_piece.size; ++k) {
                    T* const into = to + to_index(k) * to_step;
                    const T* const read = from + from_index(k) * from_layout.step;
                    for (count_t c = 0; c < from_layout.width; ++c) into[c] = op(into[c], read[c]);
                }
            });
        });
    });
}

/// @brief The values of every id: `per_id` of them together in each of the arrays.
struct value_arrays {
    std::vector<std::byte*> arrays;
    count_t per_id = 1;
    std::size_t value_bytes = 0;
    combine_values combine;
    std::size_t shortest = std::numeric_limits<std::size_t>::max();  ///< values in an array

    void add(std::byte* array, std::size_t num_values) {
        arrays.push_back(array);
        shortest = std::min(shortest, num_values);
    }

    /// @brief Values of one id in all arrays.
    count_t width() const noexcept { return per_id * static_cast<count_t>(arrays.size()); }
    std::size_t item_bytes() const noexcept {
        return static_cast<std::size_t>(width()) * value_bytes;
    }
};

}  // namespace crossdock
