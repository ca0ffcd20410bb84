/// @file
/// @brief A stable sort of numbered indices in linear time.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "crossdock/array/value_operation.hpp"

namespace crossdock {

/// @brief An index, and which of the requests it belongs to.
template <class Index>
struct numbered {
    Index index;
    position_t number;
};

/// @brief Sorts by index, digit by digit from the least; equal ones keep their order.
/// @param num_entries  all indices are less
/// @par Complexity
/// One pass for every 11 bits of an index, and as much memory again.
template <class Index>
void radix_sort(std::vector<numbered<Index>>& requests, count_t num_entries) {
    constexpr int most_digit_bits = 11;
    if (requests.size() < 2) return;
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(num_entries - 1)));
    const int num_passes = (bits + most_digit_bits - 1) / most_digit_bits;
    if (num_passes == 0) return;
    const int digit_bits = (bits + num_passes - 1) / num_passes;
    const std::size_t num_digits = std::size_t{1} << digit_bits;
    const auto digit_of = [&](Index index, int pass) {
        return static_cast<std::size_t>(index >> (pass * digit_bits)) & (num_digits - 1);
    };

    std::vector<position_t> ends(num_digits * static_cast<std::size_t>(num_passes));
    for (const auto& request : requests) {
        for (int pass = 0; pass < num_passes; ++pass)
            ++ends[static_cast<std::size_t>(pass) * num_digits + digit_of(request.index, pass)];
    }
    std::vector<numbered<Index>> sorted(requests.size());
    for (int pass = 0; pass < num_passes; ++pass) {
        position_t* const next = ends.data() + static_cast<std::size_t>(pass) * num_digits;
        position_t first = 0;
        for (std::size_t digit = 0; digit < num_digits; ++digit) {
            const position_t count = next[digit];
            next[digit] = first;
            first += count;
        }
        for (const auto& request : requests)
            sorted[next[digit_of(request.index, pass)]++] = request;
        std::swap(requests, sorted);
    }
}

}  // namespace crossdock
