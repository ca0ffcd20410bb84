#include "crossdock/detail/base/suspension.hpp"

#include <utility>

namespace crossdock {

namespace {

thread_local suspension* of_this_thread = nullptr;

}  // namespace

// Not inline: whoever goes on after it was suspended may be on another thread, where a compiler that knew the variable
// would use the address of the first one's.
suspension* suspension::current() noexcept { return of_this_thread; }

suspension* suspension::set_current(suspension* one) noexcept {
    return std::exchange(of_this_thread, one);
}

}  // namespace crossdock
