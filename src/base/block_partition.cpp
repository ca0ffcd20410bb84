#include "crossdock/block_partition.hpp"

#include <algorithm>
#include <limits>

#include "throw_error.hpp"

namespace crossdock {

block_partition block_partition::blocks(count_t num_entries, rank_t num_ranks) {
    if (num_entries < 0 || num_ranks < 1) {
        throw_error(errc::invalid_argument,
                    "there are {} entries on {} ranks; give at least 0 entries and 1 rank",
                    num_entries, num_ranks);
    }
    block_partition result;
    result.num_entries_ = num_entries;
    result.num_ranks_ = num_ranks;
    result.small_size_ = num_entries / num_ranks;
    result.num_larger_ = static_cast<rank_t>(num_entries % num_ranks);
    result.split_ = result.num_larger_ * (result.small_size_ + 1);
    result.per_larger_ = 1.0 / static_cast<double>(result.small_size_ + 1);
    if (result.small_size_ > 0) result.per_small_ = 1.0 / static_cast<double>(result.small_size_);
    return result;
}

block_partition block_partition::from_sizes(const std::vector<count_t>& sizes) {
    if (sizes.empty())
        throw error(errc::invalid_argument, "there are no sizes; give one for each rank");
    block_partition result;
    result.num_ranks_ = checked_cast<rank_t>(sizes.size());
    result.firsts_.push_back(0);
    for (const count_t size : sizes) {
        if (size < 0)
            throw_error(errc::invalid_argument, "a rank has {} entries; the minimum is 0", size);
        if (size > std::numeric_limits<count_t>::max() - result.firsts_.back())
            throw error(errc::count_overflow, "the sizes add up to more than 2^63 - 1");
        result.firsts_.push_back(result.firsts_.back() + size);
    }
    result.num_entries_ = result.firsts_.back();
    return result;
}

rank_t block_partition::search(count_t index) const noexcept {
    const auto next = std::upper_bound(firsts_.begin(), firsts_.end(), index);
    return static_cast<rank_t>(next - firsts_.begin()) - 1;
}

}  // namespace crossdock
