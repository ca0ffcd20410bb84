#include "repetition.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock::drop_in {

namespace {

// Of watched calls, these are asked about: the ones at which periods of 1, 2, up to 4 and up to 8 can have come twice.
constexpr std::array<std::int64_t, 4> asked_watched{2, 4, 8, 16};
constexpr std::int64_t least_left = 16;
constexpr std::int64_t least_left_if_lost = 256;
constexpr std::int64_t most_left = 1 << 20;
constexpr std::int64_t first_question = 8;
constexpr std::int64_t most_between_questions = 1024;

}  // namespace

repetition::repetition(bool is_always_planned)
    : is_always_planned_(is_always_planned),
      period_(is_always_planned ? 1 : 0),
      asked_next_(first_question),
      num_left_last_(least_left / 2) {}

void repetition::observe(edge_lengths lengths) {
    for (int period = 1; period <= max_period; ++period) {
        const auto before = static_cast<std::size_t>(period - 1);
        const bool repeats = before < history_.size() && history_[before] == lengths;
        auto& number = num_repeated_[static_cast<std::size_t>(period)];
        number = repeats ? number + 1 : 0;
    }
    if (history_.size() == max_period) history_.pop_back();
    history_.insert(history_.begin(), std::move(lengths));
}

repetition::step repetition::next(const std::vector<count_t>& sends,
                                  const std::vector<count_t>& receives) {
    const auto number = num_calls_++;
    if (period_ == 0) {
        observe(with_reserve([&] {
            history_.reserve(max_period);
            return edge_lengths{sends, receives};
        }));
        return {no_slot, round_, std::ranges::count(asked_watched, num_calls_) > 0};
    }
    ++num_since_asked_;
    return {static_cast<int>(number % period_), round_, num_calls_ == asked_next_};
}

std::uint32_t repetition::vote() const noexcept {
    if (period_ > 0) return 2 * num_different_ <= num_since_asked_ ? 1 : 0;
    if (num_different_ > 0) return 0;
    // Of all watched calls; or at the end, if there are none, of the last ones.
    std::uint32_t of_all = 0, of_last = 0;
    for (int period = 1; period <= max_period; ++period) {
        const auto number = num_repeated_[static_cast<std::size_t>(period)];
        if (number < period) continue;
        of_last |= 1U << period;
        if (number == num_calls_ - period) of_all |= 1U << period;
    }
    return of_all == 0 && num_calls_ == asked_watched.back() ? of_last : of_all;
}

void repetition::conclude(std::uint32_t agreed) {
    num_different_ = num_since_asked_ = 0;
    if (period_ > 0) {
        if (agreed == 0 && !is_always_planned_) return leave_more(least_left);
        if (agreed == 0) ++round_;
        asked_next_ += std::min(asked_next_, most_between_questions);
        num_left_last_ = std::max(num_left_last_ / 2, least_left / 2);
        return;
    }
    if (agreed == 0) {
        if (num_calls_ == asked_watched.back()) leave_more(least_left);
        return;
    }
    period_ = std::countr_zero(agreed);
    ++round_;
    num_calls_ = 0;
    asked_next_ = first_question;
}

void repetition::lost() {
    if (++num_lost_ == period_ && !is_always_planned_) leave_more(least_left_if_lost);
}

void repetition::leave_more(std::int64_t at_least) {
    num_left_last_ = std::clamp(2 * num_left_last_, at_least, most_left);
    num_left_ = num_left_last_;
    period_ = 0;
    num_calls_ = num_different_ = 0;
    num_lost_ = 0;
    history_.clear();
    num_repeated_.fill(0);
}

}  // namespace crossdock::drop_in
