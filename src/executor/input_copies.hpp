/// @file
/// @brief Departing items that are copies of a rank's own items, and who wants them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "graph_indices.hpp"

namespace crossdock {

/// @brief Of each departing item, whether it is a copy of an item of this rank, and of which.
///
/// Such a copy is made only if another rank requests it: this rank itself reads its own array.
class input_copies {
  public:
    /// @param num_departing  0 if no item departs inside the domain
    explicit input_copies(count_t num_departing)
        : inputs_(static_cast<std::size_t>(num_departing), -1),
          is_requested_(static_cast<std::size_t>(num_departing), 0) {}

    count_t size() const noexcept { return static_cast<count_t>(inputs_.size()); }

    void note(departing_item item, count_t input) { inputs_[item] = input; }
    /// @brief The index in this rank's array, or -1 if the item is no copy.
    count_t input_of(departing_item item) const { return inputs_[item]; }

    void request(departing_item first, count_t length) {
        std::fill_n(is_requested_.begin() + first.value(), length, char{1});
    }
    bool is_requested(departing_item item) const { return is_requested_[item] != 0; }
    bool are_all_requested(departing_item first, count_t length) const {
        const auto begin = is_requested_.begin() + first.value();
        return std::all_of(begin, begin + length, [](char is) { return is != 0; });
    }

  private:
    index_vector<departing_item, count_t> inputs_;
    index_vector<departing_item, char> is_requested_;
};

}  // namespace crossdock
