// Calls that all ranks make together, and that Ctrl-C can leave in the middle.
#pragma once

#include <ucontext.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "crossdock/extend.hpp"

namespace crossdock::python {

/// @brief How long a wait may last before it looks for signals of Python.
inline constexpr auto between_signals = std::chrono::milliseconds(20);

/// @brief A call on a stack of its own.
///
/// Other ranks count on a call that this rank has begun. So a call that is interrupted stays as it is, with its stack,
/// and goes on later; one that never goes on is never destroyed, as messages may come to its memory.
class collective_call final : private suspension {
  public:
    /// @param body  calls nothing of Python; owns all that it uses
    explicit collective_call(std::function<void()> body);
    /// @pre it is done
    ~collective_call();
    collective_call(const collective_call&) = delete;
    collective_call& operator=(const collective_call&) = delete;

    /// @brief Runs on until the body is done, or for the time between two looks for signals.
    /// @return whether it is done
    bool run();

    bool is_done() const noexcept { return is_done_; }
    /// @brief What the body threw, if anything.
    std::exception_ptr thrown() const noexcept { return thrown_; }
    /// @brief Whether this thread has begun it: no other one can go on.
    bool is_of_this_thread() const noexcept { return thread_ == std::this_thread::get_id(); }

  private:
    static constexpr std::size_t stack_bytes = std::size_t{1}
                                               << 20;  // pages that are not touched cost nothing
    static void enter(unsigned high, unsigned low);

    void suspend() override;
    void before_blocking(const communicator& comm) override;
    bool may_make_communicators() const override { return true; }
    void switch_stacks(ucontext_t& from, ucontext_t& to);

    std::function<void()> body_;
    std::thread::id thread_ = std::this_thread::get_id();
    std::byte* stack_;
    ucontext_t inside_{};
    ucontext_t outside_{};
    std::array<std::byte, 2 * sizeof(void*)>
        exceptions_{};  // that the stack not in use is handling
    std::chrono::steady_clock::time_point end_;
    bool is_done_ = false;
    std::exception_ptr thrown_;
};

/// @brief Keeps the memory of a call that is not done.
struct delete_if_done {
    void operator()(const collective_call* call) const {
        if (call->is_done()) delete call;
    }
};
using collective_call_owner = std::unique_ptr<collective_call, delete_if_done>;

}  // namespace crossdock::python
