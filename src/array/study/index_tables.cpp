// Ways to find equal indices that the study of combined requests compares with sorting.
#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <functional>

#include "../../base/reserve_allocator.hpp"
#include "../combined_requests.hpp"

namespace crossdock {

template <class Index>
void combined_requests<Index>::hash(std::span<const request_list<Index>> lists) {
    absl::flat_hash_map<Index, position_t, absl::Hash<Index>, std::equal_to<>,
                        reserve_allocator<std::pair<const Index, position_t>>>
        position_of;
    indices_.clear();
    positions_.clear();
    is_sorted_ = false;
    for (const auto& list : lists) {
        for (const Index index : list.indices) {
            const auto [entry, is_new] =
                position_of.try_emplace(index, static_cast<position_t>(indices_.size()));
            if (is_new) indices_.push_back(index);
            positions_.push_back(entry->second);
        }
    }
}

template <class Index>
void combined_requests<Index>::search_tree(std::span<const request_list<Index>> lists) {
    absl::btree_map<Index, position_t, std::less<>,
                    reserve_allocator<std::pair<const Index, position_t>>>
        number_of;
    positions_.clear();
    for (const auto& list : lists) {
        for (const Index index : list.indices) {
            const auto number = static_cast<position_t>(number_of.size());
            positions_.push_back(number_of.try_emplace(index, number).first->second);
        }
    }
    std::vector<position_t> rank_of(number_of.size());
    indices_.clear();
    for (const auto& [index, number] : number_of) {
        rank_of[number] = static_cast<position_t>(indices_.size());
        indices_.push_back(index);
    }
    for (position_t& position : positions_) position = rank_of[position];
    is_sorted_ = true;
}

template void combined_requests<std::uint32_t>::hash(std::span<const request_list<std::uint32_t>>);
template void combined_requests<std::uint32_t>::search_tree(
    std::span<const request_list<std::uint32_t>>);
template void combined_requests<std::uint64_t>::hash(std::span<const request_list<std::uint64_t>>);
template void combined_requests<std::uint64_t>::search_tree(
    std::span<const request_list<std::uint64_t>>);

}  // namespace crossdock
