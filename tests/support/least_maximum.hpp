/// @file
/// @brief What `balance` is measured against: exhaustive search.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::test {

/// @brief Whether bins of size `limit` can hold all volumes; tries every assignment that differs.
class exhaustive_packing {
  public:
    exhaustive_packing(std::vector<count_t> volumes, int num_bins, count_t limit)
        : volumes_(std::move(volumes)), loads_(static_cast<std::size_t>(num_bins)), limit_(limit) {
        std::sort(volumes_.begin(), volumes_.end(), std::greater<>());
    }

    bool exists() { return place(0); }

  private:
    bool place(std::size_t i) {
        if (i == volumes_.size()) return true;
        std::vector<count_t> tried;  // bins of equal load are alike
        for (auto& load : loads_) {
            if (load + volumes_[i] > limit_) continue;
            if (std::find(tried.begin(), tried.end(), load) != tried.end()) continue;
            tried.push_back(load);
            load += volumes_[i];
            const bool is_possible = place(i + 1);
            load -= volumes_[i];
            if (is_possible) return true;
        }
        return false;
    }

    std::vector<count_t> volumes_;
    std::vector<count_t> loads_;
    count_t limit_;
};

/// @brief Whether `fullest` is at most 1.25 times the mean load, or no assignment reaches that.
///
/// Where none does, it must be at most 1.25 times the larger of mean and largest volume if any
/// assignment reaches that.
inline bool is_balanced(count_t fullest, const std::vector<count_t>& volumes, int num_bins) {
    if (volumes.empty()) return fullest == 0;
    const count_t sum = std::accumulate(volumes.begin(), volumes.end(), count_t{0});
    const count_t largest = *std::max_element(volumes.begin(), volumes.end());
    for (const count_t limit :
         {5 * sum / (4 * num_bins), 5 * std::max(sum, num_bins * largest) / (4 * num_bins)}) {
        if (fullest <= limit) return true;
        if (exhaustive_packing(volumes, num_bins, limit).exists()) return false;
    }
    return true;
}

}  // namespace crossdock::test
