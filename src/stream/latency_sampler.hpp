// Chooses the pushes whose latency is measured: every `interval`-th one of a worker.
#pragma once

#include <algorithm>
#include <cstdint>

#include "crossdock/types.hpp"

namespace crossdock {

// A push does not test whether it is sampled. When a buffer begins, the sampler plans which of its
// pushes is, and the buffer first ends behind that one. At most one push of a buffer is sampled.
//
//     interval 5, buffers of 3 pushes    o o o | o x o | o o o | x o o | o o x
//
// Invariant: after `until_` more pushes comes the next sample, if pushes alone fill every buffer
// that has begun. When a buffer leaves early, or holds forwarded items, `correct()` sets the number
// right.
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

    // Forwarded items took the room of a push that was planned: the next push is sampled instead.
    void postpone() noexcept { until_ = 1; }

    // A buffer leaves with so many items, `forwarded` of which were not pushed here. `planned`: its
    // sample, if it has not been taken, or `none`.
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

    // Counts one push, and returns whether it is sampled. For items of any size: how many of them a
    // buffer has room for is not known when it begins.
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
