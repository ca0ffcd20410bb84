/// @file
/// @brief A stack of its own, on which functions run that can be left in the middle.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <functional>

#include "crossdock/extend.hpp"

namespace crossdock::drop_in {

/// @brief Runs what waits for other ranks a piece at a time: from one look at what it waits for to the next.
class fiber {
  public:
    fiber();

    /// @brief What the next `resume` begins; the last one must be done.
    /// @param body  must not throw
    void begin(std::function<void()> body);

    /// @brief Runs on until the body waits or returns.
    /// @param waits  what the body's waits are to call; set while it runs
    void resume(suspension& waits);

    /// @brief Goes back to who called `resume`; to be called by the body.
    void leave();

    bool is_done() const noexcept { return !body_; }

  private:
    explicit fiber(boost::context::stack_context own);

    boost::context::stack_context own_;
    const void* outer_stack_ = nullptr;  // of who called `resume`, for AddressSanitizer
    std::size_t outer_bytes_ = 0;
    boost::context::fiber inside_;
    boost::context::fiber outside_;
    std::function<void()> body_;
};

}  // namespace crossdock::drop_in
