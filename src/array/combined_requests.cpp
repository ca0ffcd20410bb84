#include "combined_requests.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "radix_rank.hpp"

namespace crossdock {

namespace {

// What both lists hold, once.
template <class Index>
void merge_two(std::span<const Index> a, std::span<const Index> b, raw_vector<Index>& result) {
    result.resize(a.size() + b.size());
    const auto end = std::set_union(a.begin(), a.end(), b.begin(), b.end(), result.begin());
    result.resize(static_cast<std::size_t>(end - result.begin()));
}

}  // namespace

template <class Index>
void combined_requests<Index>::combine(combining strategy,
                                       std::span<const request_list<Index>> lists,
                                       count_t num_entries) {
    std::size_t num_requests = 0;
    first_position_.clear();
    for (const auto& list : lists) {
        first_position_.push_back(num_requests);
        num_requests += list.indices.size();
    }
    if (num_requests >= std::numeric_limits<position_t>::max()) {
        throw error(errc::count_overflow,
                    fmt::format("{} requests at one rank, more than 2^32 - 2; split the batch",
                                num_requests));
    }
    is_one_to_one_ = false;
    const bool are_sorted =
        std::all_of(lists.begin(), lists.end(), [](const auto& list) { return list.is_sorted; });
    switch (strategy) {
        case combining::none: return concatenate(lists);
        case combining::sort: return are_sorted ? merge(lists) : sort(lists, num_entries);
        case combining::envelope_sort: return sort(lists, num_entries);
        case combining::hash:
        case combining::envelope_hash: return hash(lists);
        case combining::search_tree: return search_tree(lists);
    }
}

template <class Index>
void combined_requests<Index>::concatenate(std::span<const request_list<Index>> lists) {
    indices_.clear();
    for (const auto& list : lists)
        indices_.insert(indices_.end(), list.indices.begin(), list.indices.end());
    positions_.resize(indices_.size());
    std::iota(positions_.begin(), positions_.end(), position_t{0});
    is_one_to_one_ = true;
    is_sorted_ = false;
}

template <class Index>
void combined_requests<Index>::sort(std::span<const request_list<Index>> lists,
                                    count_t num_entries) {
    positions_.resize(first_position_.back() + lists.back().indices.size());
    indices_ = radix_rank<Index>(memory()).rank(lists, num_entries, positions_);
    is_sorted_ = true;
}

// Two by two, so that an index is moved as often as the number of lists can be halved.
template <class Index>
void combined_requests<Index>::merge(std::span<const request_list<Index>> lists) {
    std::vector<std::span<const Index>> sorted;
    for (const auto& list : lists) {
        if (!list.indices.empty()) sorted.push_back(list.indices);
    }
    positions_.clear();
    is_sorted_ = true;
    std::vector<raw_vector<Index>> merged;
    while (sorted.size() > 1) {
        std::vector<raw_vector<Index>> larger;
        for (std::size_t i = 0; i < sorted.size(); i += 2) {
            const bool is_alone = i + 1 == sorted.size();
            merge_two(sorted[i], is_alone ? std::span<const Index>() : sorted[i + 1],
                      larger.emplace_back(memory()));
        }
        merged = std::move(larger);
        sorted.assign(merged.begin(), merged.end());
    }
    if (merged.empty()) {
        indices_.clear();
        if (!sorted.empty()) indices_.assign(sorted[0].begin(), sorted[0].end());
    } else {
        indices_ = std::move(merged.front());
    }
}

template <class Index>
void combined_requests<Index>::rearrange(raw_vector<position_t>&& new_positions) {
    raw_vector<Index> arranged(indices_.size(), memory());
    for (std::size_t i = 0; i < indices_.size(); ++i) arranged[new_positions[i]] = indices_[i];
    indices_ = std::move(arranged);
    if (is_one_to_one_) {
        positions_ = std::move(new_positions);
    } else {
        for (position_t& position : positions_) position = new_positions[position];
    }
    is_one_to_one_ = false;
    is_sorted_ = false;
}

template class combined_requests<std::uint32_t>;
template class combined_requests<std::uint64_t>;

}  // namespace crossdock
