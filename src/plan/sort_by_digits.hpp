/// @file
/// @brief A stable sort by a number, in time that is linear in how many there are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Sorts by `number_of(value)`, keeping the order of values with equal numbers.
///
/// Leaves alone what is in order. Else sorts by groups of bits, the least first, one bit more at a time
/// than there are in the number of values: what is sorted here lies densely and takes one turn or two.
template <class Value, class NumberOf>
void sort_by_digits(std::vector<Value>& values, NumberOf number_of) {
    const auto by_number = [&](const Value& a, const Value& b) {
        return number_of(a) < number_of(b);
    };
    if (std::is_sorted(values.begin(), values.end(), by_number)) return;
    count_t least = number_of(values.front());
    count_t greatest = least;
    for (const auto& value : values) {
        least = std::min(least, number_of(value));
        greatest = std::max(greatest, number_of(value));
    }
    const auto num_bits =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(greatest - least)));
    const int digit_bits =
        std::min(num_bits, std::clamp(static_cast<int>(std::bit_width(values.size())) + 1, 4, 14));
    const auto digit_of = [&](const Value& value, int shift) {
        const auto number = static_cast<std::uint64_t>(number_of(value) - least);
        return static_cast<std::size_t>(number >> shift) & ((std::size_t{1} << digit_bits) - 1);
    };
    std::vector<Value> sorted(values.size());
    std::vector<std::size_t> ends(std::size_t{1} << digit_bits);
    for (int shift = 0; shift < num_bits; shift += digit_bits) {
        std::fill(ends.begin(), ends.end(), 0);
        for (const auto& value : values) ++ends[digit_of(value, shift)];
        std::size_t sum = 0;
        for (auto& end : ends) sum += std::exchange(end, sum);
        for (const auto& value : values) sorted[ends[digit_of(value, shift)]++] = value;
        values.swap(sorted);
    }
}

}  // namespace crossdock
