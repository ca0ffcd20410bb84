// Requests for equal indices, found and numbered.
#pragma once

#include <algorithm>
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "../base/pooled_resource.hpp"
#include "crossdock/detail/array/combining.hpp"
#include "crossdock/detail/array/value_operation.hpp"

namespace crossdock {

/// @brief Requests from one rank, in its order. `Index` is as wide as the array's indices need.
template <class Index>
struct request_list {
    std::span<const Index> indices;
    std::span<const position_t> return_slots;  ///< where the sender wants replies; envelopes only
    const std::byte* values = nullptr;         ///< of writes and updates
    bool is_sorted = false;                    ///< strictly: no index occurs twice
};

/// @brief What lists of requests have in common.
///
///     lists {3 5 9} {5 7}   indices 3 5 7 9   positions of the second list: 1 2
template <class Index>
class combined_requests {
  public:
    /// @param memory  must outlive the object
    explicit combined_requests(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : indices_(memory), positions_(memory) {}

    /// @brief Finds equal indices as `strategy` does.
    /// @param num_entries  all indices are less
    /// @throws error(errc::count_overflow)  2^32 - 1 requests or more
    void combine(combining strategy, std::span<const request_list<Index>> lists,
                 count_t num_entries);

    /// @brief Every index once, or as often as it occurs if the strategy is `none`.
    const raw_vector<Index>& indices() const noexcept { return indices_; }
    count_t size() const noexcept { return static_cast<count_t>(indices_.size()); }

    /// @brief Whether the indices ascend strictly.
    bool is_sorted() const noexcept { return is_sorted_; }

    /// @brief Moves index i to position `new_positions[i]`; the result counts as unsorted.
    void rearrange(raw_vector<position_t>&& new_positions);

    /// @brief Calls `use(first, positions)` for stretches of list `l`: the positions among the
    /// indices of its requests `first`, `first` + 1, …
    template <class Use>
    void for_each_stretch(std::size_t l, std::span<const Index> list, Use&& use) const {
        if (!positions_.empty()) {
            use(std::size_t{0}, std::span(positions_).subspan(first_position_[l], list.size()));
            return;
        }
        std::array<position_t, 1024> found;
        std::size_t at = 0;
        for (std::size_t first = 0; first < list.size(); first += found.size()) {
            const std::size_t length = std::min(found.size(), list.size() - first);
            for (std::size_t k = 0; k < length; ++k) {
                at = search_from(at, list[first + k]);
                found[k] = static_cast<position_t>(at);
            }
            use(first, std::span<const position_t>(found.data(), length));
        }
    }

  private:
    void concatenate(std::span<const request_list<Index>> lists);
    void sort(std::span<const request_list<Index>> lists, count_t num_entries);
    void merge(std::span<const request_list<Index>> lists);
    void hash(std::span<const request_list<Index>> lists);
    void search_tree(std::span<const request_list<Index>> lists);

    std::pmr::memory_resource* memory() const { return indices_.get_allocator().resource(); }

    // The position of an index that is at `at` or behind: steps that double, then a binary search.
    std::size_t search_from(std::size_t at, Index index) const {
        if (indices_[at] == index) return at;
        std::size_t step = 1;
        while (at + step < indices_.size() && indices_[at + step] < index) step *= 2;
        const auto first = indices_.begin() + static_cast<std::ptrdiff_t>(at + step / 2);
        const auto last = indices_.begin() +
                          static_cast<std::ptrdiff_t>(std::min(at + step + 1, indices_.size()));
        return static_cast<std::size_t>(std::lower_bound(first, last, index) - indices_.begin());
    }

    raw_vector<Index> indices_;
    bool is_sorted_ = false;
    bool is_one_to_one_ = false;               // every request has the position of its number
    raw_vector<position_t> positions_;         // of all requests; empty where they are searched
    std::vector<std::size_t> first_position_;  // by list, where its requests begin in `positions_`
};

extern template class combined_requests<std::uint32_t>;
extern template class combined_requests<std::uint64_t>;

}  // namespace crossdock
