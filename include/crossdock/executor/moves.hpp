/// @file
/// @brief Lists of values to copy or combine, and the typed loops that do it.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "crossdock/base/types.hpp"

namespace crossdock {

/// @brief Indices in order; consecutive ones take no memory.
class index_list {
  public:
    void append(count_t index) {
        if (size_ == 0) {
            first_ = index;
        } else if (!is_consecutive() || index != first_ + size_) {
            spell_out();
            indices_.push_back(index);
        }
        ++size_;
    }

    count_t size() const noexcept { return size_; }
    bool is_consecutive() const noexcept { return indices_.empty(); }
    /// @brief The first index; meaningless where the list is empty.
    count_t first() const noexcept { return first_; }

    /// @brief Calls `use` with a function from a place in the list to the index there.
    template <class Use>
    void with_lookup(Use&& use) const {
        if (is_consecutive()) {
            use([first = first_](count_t i) { return first + i; });
        } else {
            use([indices = indices_.data()](count_t i) { return indices[i]; });
        }
    }

  private:
    void spell_out() {
        if (!indices_.empty()) return;
        indices_.reserve(static_cast<std::size_t>(size_) + 1);
        for (count_t i = 0; i < size_; ++i) indices_.push_back(first_ + i);
    }

    count_t first_ = 0;
    count_t size_ = 0;
    std::vector<count_t> indices_;  // empty while consecutive
};

/// @brief Values that go from indices of one array to indices of another, pair by pair, in order.
struct moves {
    index_list from;
    index_list to;

    void append(count_t from_index, count_t to_index) {
        from.append(from_index);
        to.append(to_index);
    }
    count_t size() const noexcept { return from.size(); }
    bool is_one_run() const noexcept { return from.is_consecutive() && to.is_consecutive(); }
};

/// @brief Copies items of `item_bytes` bytes, as `list` says.
void copy_items(std::byte* to, const std::byte* from, const moves& list, std::size_t item_bytes);

/// @brief Combines values of one array into another, as a list of moves says.
using combine_function =
    std::function<void(std::byte* to, const std::byte* from, const moves& list)>;

/// @brief to[j] = op(to[j], from[i]) for every pair (i, j) of `list`, in order.
template <class T, class Op>
void combine_items(T* to, const T* from, const moves& list, Op& op) {
    list.from.with_lookup([&](auto from_index) {
        list.to.with_lookup([&](auto to_index) {
            for (count_t k = 0; k < list.size(); ++k) {
                T& value = to[to_index(k)];
                value = op(value, from[from_index(k)]);
            }
        });
    });
}

}  // namespace crossdock
