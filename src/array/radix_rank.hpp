/// @file
/// @brief Numbers indices in ascending order, in linear time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "crossdock/array/value_operation.hpp"
#include "crossdock/base/kept_memory.hpp"

namespace crossdock {

/// @brief A radix sort from the highest digit down, which ends where equal indices can be told without
/// sorting: a table says which indices of a range occur, and the how-manieth each is.
///
///     5 2 5 9   sorted 2 5 9   places 1 0 1 2
///
/// @par Complexity
/// One pass for every 11 bits above a table's; none if indices are so dense that one table holds all.
/// Memory of twice the indices and their numbers, and a table of up to 2^18 places.
template <class Index>
class radix_rank {
  public:
    /// @param memory  must outlive the object and what it returns
    explicit radix_rank(std::pmr::memory_resource* memory)
        : memory_(memory), sorted_(memory), occurs_(memory), place_of_(memory) {}

    /// @brief Sorts all indices of some lists.
    /// @param num_entries  all indices are less
    /// @param places       the place of every index among the sorted ones, list by list
    /// @return every index once, ascending
    template <class Lists>
    raw_vector<Index> rank(const Lists& lists, count_t num_entries, std::span<position_t> places) {
        const auto last = static_cast<std::uint64_t>(std::max<count_t>(num_entries, 1) - 1);
        const int bits = static_cast<int>(std::bit_width(last));
        const auto for_each = [&](auto&& use) {
            position_t number = 0;
            for (const auto& list : lists) {
                for (const Index index : list.indices) use(index, number++);
            }
        };
        places_ = places;
        num_sorted_ = 0;
        sorted_.resize(places.size());
        if (fit_table(places.size(), bits)) {
            look_up(for_each, 0, bits);
        } else {
            raw_vector<numbered> requests(memory_);
            requests.reserve(places.size());
            for_each([&](Index index, position_t number) { requests.push_back({index, number}); });
            raw_vector<numbered> room(requests.size(), memory_);
            sort(requests, room, bits);
        }
        sorted_.resize(num_sorted_);
        return std::move(sorted_);
    }

  private:
    static constexpr int small_table_bits = 12;  // fits the fastest cache
    static constexpr int large_table_bits = 18;
    static constexpr int most_digit_bits = 11;
    static constexpr std::size_t few = 32;

    // An index, and which of the requests it belongs to.
    struct numbered {
        Index index;
        position_t number;
    };

    // Whether an eighth of 2^bits indices may occur.
    static bool are_dense(std::size_t num_requests, int bits) {
        return bits < 60 && num_requests >= (std::size_t{1} << bits) / 8;
    }

    // Whether a table of all that may occur pays.
    static bool fit_table(std::size_t num_requests, int bits) {
        return bits <= small_table_bits ? num_requests >= few
                                        : bits <= large_table_bits && are_dense(num_requests, bits);
    }

    // Sorts requests whose indices differ in the lowest `bits` only; `room` is as long.
    void sort(std::span<numbered> requests, std::span<numbered> room, int bits) {
        if (fit_table(requests.size(), bits)) {
            const auto for_each = [&](auto&& use) {
                for (const auto& [index, number] : requests) use(index, number);
            };
            return look_up(for_each, requests.front().index >> bits << bits, bits);
        }
        if (requests.size() < few) return sort_few(requests);
        const int most_useful = static_cast<int>(std::bit_width(requests.size())) - 2;
        const int table_bits =
            are_dense(requests.size(), bits) ? large_table_bits : small_table_bits;
        const int digit_bits = std::min({bits - table_bits, most_digit_bits, most_useful});
        const int rest = bits - digit_bits;
        const Index mask = (Index{1} << digit_bits) - 1;
        const auto digit_of = [&](Index index) {
            return static_cast<std::size_t>((index >> rest) & mask);
        };
        std::array<position_t, (std::size_t{1} << most_digit_bits) + 1> ends{};
        for (const auto& request : requests) ++ends[digit_of(request.index) + 1];
        const std::size_t num_digits = std::size_t{1} << digit_bits;
        for (std::size_t digit = 0; digit < num_digits; ++digit) ends[digit + 1] += ends[digit];
        for (const auto& request : requests) room[ends[digit_of(request.index)]++] = request;
        std::size_t first = 0;
        for (std::size_t digit = 0; digit < num_digits; ++digit) {
            const std::size_t length = ends[digit] - first;
            if (length > 0)
                sort(room.subspan(first, length), requests.subspan(first, length), rest);
            first += length;
        }
    }

    void sort_few(std::span<numbered> requests) {
        std::sort(requests.begin(), requests.end(),
                  [](const auto& a, const auto& b) { return a.index < b.index; });
        const std::size_t first = num_sorted_;
        for (const auto& [index, number] : requests) {
            if (num_sorted_ == first || sorted_[num_sorted_ - 1] != index)
                sorted_[num_sorted_++] = index;
            places_[number] = static_cast<position_t>(num_sorted_ - 1);
        }
    }

    // All indices lie in [base, base + 2^bits).
    template <class ForEach>
    void look_up(ForEach&& for_each, Index base, int bits) {
        const std::size_t length = std::size_t{1} << bits;
        occurs_.assign((length + 63) / 64, 0);
        if (place_of_.size() < length) place_of_.resize(length);
        for_each([&](Index index, position_t) {
            const auto low = static_cast<std::size_t>(index - base);
            occurs_[low / 64] |= std::uint64_t{1} << (low % 64);
        });
        for (std::size_t word = 0; word < occurs_.size(); ++word) {
            for (std::uint64_t rest = occurs_[word]; rest != 0; rest &= rest - 1) {
                const std::size_t low =
                    64 * word + static_cast<std::size_t>(std::countr_zero(rest));
                place_of_[low] = static_cast<position_t>(num_sorted_);
                sorted_[num_sorted_++] = base + static_cast<Index>(low);
            }
        }
        for_each([&](Index index, position_t number) {
            places_[number] = place_of_[static_cast<std::size_t>(index - base)];
        });
    }

    std::pmr::memory_resource* memory_;
    std::span<position_t> places_;
    raw_vector<Index> sorted_;
    std::size_t num_sorted_ = 0;
    std::pmr::vector<std::uint64_t> occurs_;
    raw_vector<position_t> place_of_;
};

}  // namespace crossdock
