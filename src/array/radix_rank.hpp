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

namespace crossdock {

/// @brief A radix sort from the highest digit down, which ends where equal indices can be told without
/// sorting: in a range of 2^12 indices a table says which occur, and the how-manieth each is.
///
///     5 2 5 9   sorted 2 5 9   places 1 0 1 2
///
/// @par Complexity
/// One pass for every 11 bits above the lowest 12; memory of twice the indices and their numbers.
template <class Index>
class radix_rank {
  public:
    /// @param memory  must outlive the object and what it returns
    explicit radix_rank(std::pmr::memory_resource* memory) : memory_(memory), sorted_(memory) {}

    /// @brief Sorts all indices of some lists.
    /// @param num_entries  all indices are less
    /// @param places       the place of every index among the sorted ones, list by list
    /// @return every index once, ascending
    template <class Lists>
    std::pmr::vector<Index> rank(const Lists& lists, count_t num_entries,
                                 std::span<position_t> places) {
        places_ = places;
        sorted_.resize(places.size());
        num_sorted_ = 0;
        std::pmr::vector<numbered> requests(places.size(), memory_);
        std::size_t number = 0;
        for (const auto& list : lists) {
            for (const Index index : list.indices) {
                requests[number] = {index, static_cast<position_t>(number)};
                ++number;
            }
        }
        std::pmr::vector<numbered> room(places.size(), memory_);
        const auto last = static_cast<std::uint64_t>(std::max<count_t>(num_entries, 1) - 1);
        sort(requests, room, static_cast<int>(std::bit_width(last)));
        sorted_.resize(num_sorted_);
        return std::move(sorted_);
    }

  private:
    static constexpr int table_bits = 12;
    static constexpr int most_digit_bits = 11;
    static constexpr std::size_t few = 32;

    // An index, and which of the requests it belongs to.
    struct numbered {
        Index index;
        position_t number;
    };

    // Sorts requests whose indices differ in the lowest `bits` only; `room` is as long.
    void sort(std::span<numbered> requests, std::span<numbered> room, int bits) {
        if (requests.size() < few) return sort_few(requests);
        if (bits <= table_bits) return look_up(requests);
        const int most_useful = static_cast<int>(std::bit_width(requests.size())) - 2;
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

    void look_up(std::span<const numbered> requests) {
        constexpr Index mask = (Index{1} << table_bits) - 1;
        std::array<std::uint64_t, (std::size_t{1} << table_bits) / 64> occurs{};
        for (const auto& request : requests) {
            const auto low = static_cast<std::size_t>(request.index & mask);
            occurs[low / 64] |= std::uint64_t{1} << (low % 64);
        }
        const Index base = requests.front().index & static_cast<Index>(~mask);
        for (std::size_t word = 0; word < occurs.size(); ++word) {
            for (std::uint64_t bits = occurs[word]; bits != 0; bits &= bits - 1) {
                const std::size_t low =
                    64 * word + static_cast<std::size_t>(std::countr_zero(bits));
                place_of_[low] = static_cast<position_t>(num_sorted_);
                sorted_[num_sorted_++] = base + static_cast<Index>(low);
            }
        }
        for (const auto& request : requests)
            places_[request.number] = place_of_[static_cast<std::size_t>(request.index & mask)];
    }

    std::pmr::memory_resource* memory_;
    std::span<position_t> places_;
    std::pmr::vector<Index> sorted_;
    std::size_t num_sorted_ = 0;
    std::array<position_t, std::size_t{1} << table_bits> place_of_;
};

}  // namespace crossdock
