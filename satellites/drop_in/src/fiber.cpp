#include "fiber.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace crossdock::drop_in {

namespace {

// MPI's functions keep arrays on the stack; pages that are not touched cost nothing.
boost::context::protected_fixedsize_stack stacks(std::size_t{1} << 20);

// AddressSanitizer has to be told which stack is used. `left` keeps what it knows of the one that is left.
void announce_switch([[maybe_unused]] void** left, [[maybe_unused]] const void* stack,
                     [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(left, stack, bytes);
#endif
}

void finish_switch([[maybe_unused]] void* left, [[maybe_unused]] const void** from,
                   [[maybe_unused]] std::size_t* bytes) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(left, from, bytes);
#endif
}

}  // namespace

fiber::fiber() : fiber(stacks.allocate()) {}

fiber::fiber(boost::context::stack_context own)
    : own_(own),
      inside_(std::allocator_arg, boost::context::preallocated(own.sp, own.size, own), stacks,
              [this](boost::context::fiber&& outside) {
                  finish_switch(nullptr, &outer_stack_, &outer_bytes_);
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
    void* left = nullptr;
    announce_switch(&left, static_cast<const std::byte*>(own_.sp) - own_.size, own_.size);
    inside_ = std::move(inside_).resume();
    finish_switch(left, nullptr, nullptr);
    suspension::set_current(around);
}

void fiber::leave() {
    void* left = nullptr;
    announce_switch(&left, outer_stack_, outer_bytes_);
    outside_ = std::move(outside_).resume();
    finish_switch(left, &outer_stack_, &outer_bytes_);
}

}  // namespace crossdock::drop_in
