/// @file
/// @brief What a driver lends, and gets back at the end.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "crossdock/device.hpp"

namespace crossdock::device {

/// @brief Memory of a driver, which grows when it has to.
template <void* (driver::*allocate)(std::size_t), void (driver::*release)(void*) noexcept>
class owned_memory {
  public:
    explicit owned_memory(driver& on, std::size_t num_bytes = 0) : memory_(nullptr, {&on}) {
        grow(num_bytes);
    }

    bool holds(std::size_t num_bytes) const { return num_bytes <= num_bytes_; }
    /// @brief Nothing may use the memory; what it holds is lost.
    void grow(std::size_t num_bytes) {
        if (holds(num_bytes)) return;
        memory_.reset();
        num_bytes_ = 0;
        memory_.reset((memory_.get_deleter().on->*allocate)(num_bytes));
        num_bytes_ = num_bytes;
    }
    std::byte* get() const { return static_cast<std::byte*>(memory_.get()); }
    /// @brief Never gives it back: others may still use it.
    void abandon() noexcept { static_cast<void>(memory_.release()); }

  private:
    struct give_back {
        driver* on;
        void operator()(void* memory) const noexcept { (on->*release)(memory); }
    };
    std::unique_ptr<void, give_back> memory_;
    std::size_t num_bytes_ = 0;
};
using device_memory = owned_memory<&driver::allocate, &driver::free>;
using pinned_memory = owned_memory<&driver::allocate_pinned, &driver::free_pinned>;

/// @brief Copies between any memory of the host and a device's, after what the stream holds; blocks until it is done.
inline void copy_in(driver& on, void* device, const void* host, std::size_t num_bytes, stream by) {
    if (num_bytes == 0) return;
    const pinned_memory pinned(on, num_bytes);
    std::memcpy(pinned.get(), host, num_bytes);
    on.copy_up(device, pinned.get(), num_bytes, by);
    on.wait_for(by);
}
inline void copy_out(driver& on, void* host, const void* device, std::size_t num_bytes, stream by) {
    if (num_bytes == 0) return;
    const pinned_memory pinned(on, num_bytes);
    on.copy_down(pinned.get(), device, num_bytes, by);
    on.wait_for(by);
    std::memcpy(host, pinned.get(), num_bytes);
}

/// @brief An event or a stream of a driver.
template <void* (driver::*make)(), void (driver::*release)(void*) noexcept>
class owned {
  public:
    explicit owned(driver& on) : on_(&on), handle_((on.*make)()) {}
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    ~owned() { (on_->*release)(handle_); }

    operator void*() const { return handle_; }

  private:
    driver* on_;
    void* handle_;
};
using owned_event = owned<&driver::make_event, &driver::free_event>;
using own_stream = owned<&driver::make_stream, &driver::free_stream>;

}  // namespace crossdock::device
