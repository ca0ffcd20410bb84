// Numbers indices in ascending order, in linear time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "../base/pooled_resource.hpp"
#include "crossdock/detail/array/value_operation.hpp"

namespace crossdock {

/// @brief Sorts indices and finds the position of each among the sorted ones.
///
/// Where indices are dense it uses a table of all indices that may occur, otherwise a radix sort
/// from the lowest digit up.
///
///     5 2 5 9   sorted 2 5 9   positions 1 0 1 2
///
/// Complexity: A table takes up to 8 numbers for each index and two passes over them. The radix sort takes
/// twice the indices with their numbers, and a pass for every 11 bits.
template <class Index>
class radix_rank {
  public:
    /// @param memory  must outlive the object and what it returns
    explicit radix_rank(std::pmr::memory_resource* memory) : memory_(memory), sorted_(memory) {}

    /// @brief Sorts all indices of some lists.
    /// @param num_entries  all indices are less
    /// @param positions    the position of every index among the sorted ones, list by list
    /// @return every index once, ascending
    template <class Lists>
    raw_vector<Index> rank(const Lists& lists, count_t num_entries,
                           std::span<position_t> positions) {
        const auto last = static_cast<std::uint64_t>(std::max<count_t>(num_entries, 1) - 1);
        const int bits = static_cast<int>(std::bit_width(last));
        sorted_.resize(positions.size());
        num_sorted_ = 0;
        if (bits <= most_table_bits && positions.size() >= (std::size_t{1} << bits) / 8) {
            look_up(lists, bits, positions);
        } else {
            auto requests = all_of(lists, positions.size());
            if (requests.size() < few) {
                std::sort(requests.begin(), requests.end(),
                          [](const auto& a, const auto& b) { return a.index < b.index; });
            } else {
                sort(requests, bits);
            }
            number(requests, positions);
        }
        sorted_.resize(num_sorted_);
        return std::move(sorted_);
    }

  private:
    static constexpr int most_table_bits = 18;
    static constexpr int most_digit_bits = 11;
    static constexpr std::size_t few = 256;

    // An index, and which of the requests it belongs to.
    struct numbered {
        Index index;
        position_t number;
    };

    template <class Lists>
    raw_vector<numbered> all_of(const Lists& lists, std::size_t num_requests) const {
        raw_vector<numbered> requests(num_requests, memory_);
        std::size_t number = 0;
        for (const auto& list : lists) {
            for (const Index index : list.indices) {
                requests[number] = {index, static_cast<position_t>(number)};
                ++number;
            }
        }
        return requests;
    }

    void sort(raw_vector<numbered>& requests, int bits) const {
        const int num_passes = (bits + most_digit_bits - 1) / most_digit_bits;
        const int digit_bits = (bits + num_passes - 1) / num_passes;
        const std::size_t num_digits = std::size_t{1} << digit_bits;
        const auto digit_of = [&](Index index, int pass) {
            return static_cast<std::size_t>(index >> (pass * digit_bits)) & (num_digits - 1);
        };
        std::vector<position_t> counts(num_digits * static_cast<std::size_t>(num_passes));
        for (const auto& request : requests) {
            for (int pass = 0; pass < num_passes; ++pass)
                ++counts[static_cast<std::size_t>(pass) * num_digits +
                         digit_of(request.index, pass)];
        }
        raw_vector<numbered> room(requests.size(), memory_);
        for (int pass = 0; pass < num_passes; ++pass) {
            const auto next =
                std::span(counts).subspan(static_cast<std::size_t>(pass) * num_digits, num_digits);
            position_t first = 0;
            for (position_t& count : next) first += std::exchange(count, first);
            for (const auto& request : requests)
                room[next[digit_of(request.index, pass)]++] = request;
            std::swap(requests, room);
        }
    }

    void number(const raw_vector<numbered>& requests, std::span<position_t> positions) {
        if (requests.empty()) return;
        sorted_[0] = requests[0].index;
        std::size_t position = 0;
        for (const auto& [index, number] : requests) {
            position += index != sorted_[position] ? 1 : 0;
            sorted_[position] = index;
            positions[number] = static_cast<position_t>(position);
        }
        num_sorted_ = position + 1;
    }

    template <class Lists>
    void look_up(const Lists& lists, int bits, std::span<position_t> positions) {
        const std::size_t length = std::size_t{1} << bits;
        std::pmr::vector<std::uint64_t> occurs((length + 63) / 64, memory_);
        raw_vector<position_t> position_of(length, memory_);
        for (const auto& list : lists) {
            for (const Index index : list.indices)
                occurs[static_cast<std::size_t>(index) / 64] |= std::uint64_t{1} << (index % 64);
        }
        for (std::size_t word = 0; word < occurs.size(); ++word) {
            for (std::uint64_t rest = occurs[word]; rest != 0; rest &= rest - 1) {
                const std::size_t index =
                    64 * word + static_cast<std::size_t>(std::countr_zero(rest));
                position_of[index] = static_cast<position_t>(num_sorted_);
                sorted_[num_sorted_++] = static_cast<Index>(index);
            }
        }
        std::size_t number = 0;
        for (const auto& list : lists) {
            for (const Index index : list.indices)
                positions[number++] = position_of[static_cast<std::size_t>(index)];
        }
    }

    std::pmr::memory_resource* memory_;
    raw_vector<Index> sorted_;
    std::size_t num_sorted_ = 0;
};

}  // namespace crossdock
