// How many items several ranks ask for, each counted once.
#pragma once

#include <algorithm>
#include <cmath>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Items of one sender that several ranks ask for, of which only the numbers are known.
///
/// Each rank is taken to ask for any of the sender's items alike.
///
///     two ranks ask for 5 items each, of 10:   10 (1 - 1/2 * 1/2) = 7.5, so 8 different ones
class different_items {
  public:
    /// @param num_items  that the sender has; 0: all that are asked for are different
    explicit different_items(count_t num_items) : all_(static_cast<double>(num_items)) {}

    void add(count_t num_asked) {
        sum_ += num_asked;
        most_ = std::max(most_, num_asked);
        if (all_ > 0) not_asked_ *= std::max(0.0, 1 - static_cast<double>(num_asked) / all_);
    }

    count_t count() const {
        if (all_ == 0) return sum_;
        return std::clamp(static_cast<count_t>(std::llround(all_ * (1 - not_asked_))), most_, sum_);
    }

  private:
    double all_;
    double not_asked_ = 1;  // the part of all
    count_t most_ = 0;
    count_t sum_ = 0;
};

}  // namespace crossdock
