// Chooses the pushes whose latency is measured: every `interval`-th one of a worker.
#pragma once

#include <algorithm>
#include <cstdint>

#include "crossdock/base/types.hpp"

namespace crossdock {

// A push does not test whether it is sampled. When a buffer begins, the sampler plans which of its
// pushes is, and the buffer first ends behind that one. At most one push of a buffer is sampled.
//
//     interval 5, buffers of 3 pushes    o o o | o x o | o o o | x o o | o o x
//
// Invariant: `until_` pushes away is the next sample, if every buffer that has begun is filled by
// pushes alone. A buffer that leaves early, or that forwarded items fill, corrects the number.
class latency_sampler {
  public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    // No push is sampled if `interval` is 0.
    explicit latency_sampler(count_t interval) noexcept : interval_(interval), until_(interval) {}

    // A buffer with room for so many pushes begins. Returns which of them is sampled, or `none`.
    std::uint32_t plan(std::uint32_t room) noexcept {
        if (interval_ == 0) return none;
        if (until_ > count_t{room}) {
            until_ -= count_t{room};
            return none;
        }
        const auto planned = static_cast<std::uint32_t>(until_ - 1);
        until_ = std::max<count_t>(interval_ - (count_t{room} - until_), 1);
        return planned;
    }

    // No push came for what was planned, as forwarded items took the room: the next push is sampled.
    void postpone() noexcept { until_ = 1; }

    // A buffer leaves. `planned`: its sample that has not been taken, or `none`; `items`: how many it
    // holds, `forwarded` of which were not pushed here.
    void correct(std::uint32_t planned, std::uint32_t room, std::uint32_t items,
                 std::uint32_t forwarded) noexcept {
        if (interval_ == 0) return;
        if (planned != none) {
            until_ = std::min(until_, count_t{planned} + 1 - count_t{items});
        } else {
            const count_t pushed = count_t{items} - count_t{forwarded};
            until_ = std::min(until_ + count_t{room} - pushed, interval_);
        }
    }

    // Counts one push; true if it is sampled. For items of any size, whose number no room tells.
    bool is_next() noexcept {
        if (interval_ == 0 || --until_ > 0) return false;
        until_ = interval_;
        return true;
    }

  private:
    count_t interval_;
    count_t until_;
};

}  // namespace crossdock
