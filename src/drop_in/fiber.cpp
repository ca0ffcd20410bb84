#include "fiber.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

namespace crossdock::drop_in {

namespace {

// MPI's functions keep arrays on the stack; pages that are not touched cost nothing.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

}  // namespace

fiber::fiber()
    : inside_(std::allocator_arg, boost::context::protected_fixedsize_stack(stack_bytes),
              [this](boost::context::fiber&& outside) {
                  outside_ = std::move(outside);
                  for (;; leave()) {
                      body_();
                      body_ = nullptr;
                  }
                  return std::move(outside_);
              }) {}

void fiber::begin(std::function<void()> body) { body_ = std::move(body); }

void fiber::resume(suspension& waits) {
    auto* const around = suspension::set_current(&waits);
    inside_ = std::move(inside_).resume();
    suspension::set_current(around);
}

void fiber::leave() { outside_ = std::move(outside_).resume(); }

}  // namespace crossdock::drop_in
