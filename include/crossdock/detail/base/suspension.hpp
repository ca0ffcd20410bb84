/// @file
/// @brief What a wait does between two looks.
#pragma once

#include <thread>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

class communicator;

/// @brief Where waits of this thread go in place of yielding the core: to who runs them on a stack of their own.
///
/// With it set, no call of the library waits in MPI, but for what `before_blocking` precedes.
class suspension {
  public:
    /// @brief Leaves this stack; returns when the wait is to look again.
    virtual void suspend() = 0;

    /// @brief Waits until all ranks of a communicator are about to block in it, and none of them in another one.
    /// @pre since their present call began, they have waited for each other: a rank that is not there yet may be busy
    /// with a call that this rank makes only later
    virtual void before_blocking(const communicator& comm) = 0;

    /// @brief The one of this thread; usually null.
    static suspension* current() noexcept;
    /// @return what it was
    static suspension* set_current(suspension* one) noexcept;

  protected:
    ~suspension() = default;
};

/// @brief Gives the core away, or leaves this stack.
inline void pause_wait() {
    if (auto* const one = suspension::current())
        one->suspend();
    else
        std::this_thread::yield();
}

}  // namespace crossdock
