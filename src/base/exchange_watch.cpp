#include "exchange_watch.hpp"

#include <chrono>
#include <utility>

// Functions of Caliper's, null where it is not loaded.
extern "C" {
[[gnu::weak]] void cali_begin_region(const char* name);
[[gnu::weak]] void cali_end_region(const char* name);
}

namespace crossdock {

namespace {

constexpr count_t num_sampled_first = 8;
constexpr count_t sampling_period = 16;

}  // namespace

bool has_caliper() noexcept { return &cali_begin_region != nullptr && &cali_end_region != nullptr; }

double steady_seconds() noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void exchange_watch::begin() noexcept {
    if (!has_begun_) {
        is_started_ = is_over_ = false;
        is_sampled_ =
            role_ != watched_role::outside &&
            (of_->trace || of_->starts < num_sampled_first || of_->starts % sampling_period == 0);
        inside_ = noted_ = 0;
        seconds_ = {};
    }
    go_in(activity::sending);
    if (std::exchange(has_begun_, true)) return;
    begin_ = entered_;
    ++exchange_;
    is_tested_ = false;
    note(rank_act::started);
}

// One test after the other is one wait.
void exchange_watch::enter(rank_act as) noexcept {
    go_in(activity::waiting);
    const bool is_test = as == rank_act::tests;
    const bool goes_on = std::exchange(is_tested_, is_test) && is_test;
    if (!goes_on) watchdog::note_wait();
}

void exchange_watch::go_in(activity first) noexcept {
    if (is_inside_) return;
    is_inside_ = true;
    auto& object = watchdog::here().object;
    outer_ = object;
    if (role_ != watched_role::part || outer_ == nullptr) object = this;
    if (has_region()) cali_begin_region(of_->name.c_str());
    activity_ = first;
    since_ = entered_ = clock_();
}

void exchange_watch::leave() noexcept {
    if (!std::exchange(is_inside_, false)) return;
    watchdog::here().object = outer_;
    const double now = clock_();
    note_activity(now);
    inside_ += now - entered_;
    if (role_ != watched_role::part) trace(span_kind::call, entered_, now);
    if (is_over_) {
        note_exchange(now);
        note(rank_act::ended);
    }
    if (is_over_ || !is_started_) has_begun_ = is_over_ = false;
    if (has_region()) cali_end_region(of_->name.c_str());
}

void exchange_watch::note_exchange(double now) noexcept {
    auto& all = *of_;
    if (role_ != watched_role::part) {
        ++all.starts;
        all.exchange_seconds += now - begin_;
        all.inside_seconds += inside_;
        trace(span_kind::exchange, begin_, now);
    }
    if (role_ == watched_role::outside) return;
    all.sent.messages += sent_.messages;
    all.sent.bytes += sent_.bytes;
    all.sent.inter_region_messages += sent_.inter_region_messages;
    all.sent.inter_region_bytes += sent_.inter_region_bytes;
    if (!is_sampled_) return;
    for (std::size_t a = 0; a < seconds_.size(); ++a) all.sampled_seconds[a] += seconds_[a];
}

activity exchange_watch::change(activity next) noexcept {
    if (is_inside_ && is_sampled_) note_activity(clock_());
    return std::exchange(activity_, next);
}

// What the rank has done since the last note.
void exchange_watch::note_activity(double now) noexcept {
    seconds(activity_) += now - since_;
    if (is_sampled_) trace(static_cast<span_kind>(activity_), since_, now);
    since_ = now;
}

void exchange_watch::note_arrival(rank_t from) noexcept {
    if (!is_inside_ || !is_sampled_) return;
    change(activity_);
    const double waited = seconds(activity::waiting);
    try {
        of_->awaited_seconds[from] += waited - std::exchange(noted_, waited);
    } catch (...) {  // no memory for one more rank
    }
}

}  // namespace crossdock
