#include "crossdock/detail/base/suspension.hpp"

#include <thread>
#include <utility>

#include "watchdog.hpp"

namespace crossdock {

namespace {

thread_local suspension* of_this_thread = nullptr;
thread_local wait_place place_of_thread, place_outside;

}  // namespace

// Not inline: whoever goes on after it was suspended may be on another thread, where a compiler that knew the variable
// would use the address of the first one's.
suspension* suspension::current() noexcept { return of_this_thread; }

wait_place& watchdog::here() noexcept { return place_of_thread; }

suspension* suspension::set_current(suspension* one) noexcept {
    // What it does is no part of the call that this thread is in.
    if ((one == nullptr) != (of_this_thread == nullptr)) std::swap(place_of_thread, place_outside);
    return std::exchange(of_this_thread, one);
}

void pause_wait() {
    watchdog::look();
    auto* const one = suspension::current();
    if (!one) return std::this_thread::yield();
    const auto kept = std::exchange(watchdog::here(), {});  // others run on this thread
    one->suspend();
    watchdog::here() = kept;
}

}  // namespace crossdock
