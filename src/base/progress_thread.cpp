#include "progress_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace crossdock {

namespace {

using pause_clock = std::chrono::steady_clock;
constexpr pause_clock::duration shortest_pause = std::chrono::microseconds(10);
constexpr pause_clock::duration longest_pause = std::chrono::milliseconds(1);
constexpr int pauses_before_sleep = 10;

// Linux adds 50 us to each otherwise.
void ask_for_short_pauses() noexcept {
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1UL);
#endif
}

// Returns how long the next one is to be.
pause_clock::duration pause_for(pause_clock::duration asked) {
    const auto begin = pause_clock::now();
    std::this_thread::sleep_for(asked);
    const auto to_wake_up = pause_clock::now() - begin - asked;
    return std::clamp(10 * to_wake_up, shortest_pause, longest_pause);
}

}  // namespace

progress_thread::progress_thread(std::function<bool()> look)
    : look_(std::move(look)), thread_([this] { run(); }) {}

void progress_thread::stop() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock held(mutex_);
        is_stopped_ = true;
        wake();
    }
    thread_.join();
}

void progress_thread::run() {
    ask_for_short_pauses();
    int num_in_vain = 0;
    for (auto pause = longest_pause;;) {
        pause = pause_for(pause);
        std::unique_lock held(mutex_, std::try_to_lock);
        if (!held) continue;  // who holds the work does it
        if (is_stopped_) return;
        num_in_vain = look_() ? 0 : num_in_vain + 1;
        if (num_in_vain < pauses_before_sleep) continue;
        is_asleep_ = true;
        work_came_.wait(held, [this] { return !is_asleep_; });
        num_in_vain = 0;
    }
}

}  // namespace crossdock
