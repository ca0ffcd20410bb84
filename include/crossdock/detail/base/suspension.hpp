/// @file
/// @brief What a wait does between two looks.
#pragma once

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
    virtual void before_blocking(const communicator& comm) = 0;

    /// @brief The one of this thread; usually null.
    static suspension* current() noexcept;
    /// @return what it was
    static suspension* set_current(suspension* one) noexcept;

    /// @brief Whether what waits may make communicators and windows. MPI may be making one for the program below on
    /// this stack, for which other ranks come only when this is done, and some MPIs make one at a time.
    virtual bool may_make_communicators() const = 0;

  protected:
    ~suspension() = default;
};

/// @brief A rank that waits for memory which others write looks at it so often between two looks at MPI, which are
/// dear. It has to look: MPI goes on with other messages of the process only then.
inline constexpr int looks_at_memory = 32;

/// @brief Gives the core away, or leaves this stack.
/// @throws error(errc::timeout)  the wait has lasted as long as CROSSDOCK_WATCHDOG allows
void pause_wait();

}  // namespace crossdock
