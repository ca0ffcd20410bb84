#include "fiber.hpp"

#include <utility>

namespace crossdock::drop_in {

fiber::fiber(std::function<void()> body)
    : inside_([this, body = std::move(body)](boost::context::fiber&& outside) {
          outside_ = std::move(outside);
          body();
          is_done_ = true;
          return std::move(outside_);
      }) {}

void fiber::resume(suspension& waits) {
    auto* const around = suspension::set_current(&waits);
    inside_ = std::move(inside_).resume();
    suspension::set_current(around);
}

void fiber::leave() { outside_ = std::move(outside_).resume(); }

}  // namespace crossdock::drop_in
