/// @file
/// @brief Arrays of a device, for tests and measurements.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "crossdock/device.hpp"

namespace crossdock::device_test {

/// @brief Memory of the host that a device copies from and to.
template <class T>
class pinned_array {
  public:
    pinned_array(device::driver& on, std::size_t size)
        : on_(&on),
          values_(static_cast<T*>(on.allocate_pinned(std::max<std::size_t>(size, 1) * sizeof(T))),
                  size) {}
    pinned_array(const pinned_array&) = delete;
    pinned_array& operator=(const pinned_array&) = delete;
    ~pinned_array() { on_->free_pinned(values_.data()); }

    std::span<T> span() const { return values_; }

  private:
    device::driver* on_;
    std::span<T> values_;
};

/// @brief An array in memory of a device.
template <class T>
class device_array {
  public:
    device_array(device::driver& on, const std::vector<T>& values)
        : on_(&on),
          values_(static_cast<T*>(on.allocate(std::max<std::size_t>(values.size(), 1) * sizeof(T))),
                  values.size()) {
        set(values, nullptr);
    }
    device_array(const device_array&) = delete;
    device_array& operator=(const device_array&) = delete;
    ~device_array() { on_->free(values_.data()); }

    std::span<T> span() const { return values_; }
    T* data() const { return values_.data(); }

    /// @brief Waits for the stream.
    void set(const std::vector<T>& values, device::stream by) {
        const pinned_array<T> source(*on_, values.size());
        if (values.empty()) return;
        std::memcpy(source.span().data(), values.data(), values_.size_bytes());
        on_->copy_up(values_.data(), source.span().data(), values_.size_bytes(), by);
        on_->wait_for(by);
    }
    /// @brief What is there after all that the stream holds; waits for it.
    std::vector<T> get(device::stream by) const {
        const pinned_array<T> target(*on_, values_.size());
        if (values_.empty()) return {};
        on_->copy_down(target.span().data(), values_.data(), values_.size_bytes(), by);
        on_->wait_for(by);
        return {target.span().begin(), target.span().end()};
    }

  private:
    device::driver* on_;
    std::span<T> values_;
};

/// @brief A stream that ends with its scope.
class own_stream {
  public:
    explicit own_stream(device::driver& on) : on_(&on), stream_(on.make_stream()) {}
    own_stream(const own_stream&) = delete;
    own_stream& operator=(const own_stream&) = delete;
    ~own_stream() { on_->free_stream(stream_); }

    operator device::stream() const { return stream_; }

  private:
    device::driver* on_;
    device::stream stream_;
};

/// @brief Values whose sums depend on the order.
template <class T>
std::vector<T> draw(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(size);
    for (auto& value : values) {
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
        } else {
            value = static_cast<T>(random() % 100000) - static_cast<T>(50000);
        }
    }
    return values;
}

}  // namespace crossdock::device_test
