/// @file
/// @brief Which operations of a schedule can begin.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief Counts, for each operation, the required ones that are not complete.
///
/// Operations are numbered over all ranks, from `schedule::first_operation` of rank 0.
class dependencies {
  public:
    explicit dependencies(const schedule& s);

    /// @brief Whether everything that an operation requires is complete.
    bool is_met(std::uint32_t operation) const { return num_missing_[operation] == 0; }

    /// @brief Completes an operation, and calls `release` with each one that can begin now.
    template <class Release>
    void complete(std::uint32_t operation, Release&& release) {
        for (auto k = first_dependent_[operation]; k < first_dependent_[operation + 1]; ++k) {
            const std::uint32_t later = dependents_[k];
            if (--num_missing_[later] == 0) release(later);
        }
    }

  private:
    std::vector<std::uint32_t> num_missing_;
    std::vector<std::size_t> first_dependent_;  // of each operation
    std::vector<std::uint32_t> dependents_;
};

}  // namespace crossdock
