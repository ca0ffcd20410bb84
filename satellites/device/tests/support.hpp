/// @file
/// @brief Arrays of a device, for tests and measurements.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "../src/owned.hpp"
#include "crossdock/error.hpp"

namespace crossdock::device_test {

using device::driver;
using device::own_stream;

/// @brief An array in memory of a driver.
template <class T, class Memory>
class array {
  public:
    array(driver& on, std::size_t size)
        : memory_(on, std::max<std::size_t>(size, 1) * sizeof(T)), size_(size) {}

    T* data() const { return reinterpret_cast<T*>(memory_.get()); }
    std::span<T> span() const { return {data(), size_}; }

  private:
    Memory memory_;
    std::size_t size_;
};

/// @brief One of the host that a device copies from and to.
template <class T>
using pinned_array = array<T, device::pinned_memory>;

/// @brief One of a device.
template <class T>
struct device_array : array<T, device::device_memory> {
    device_array(driver& on, const std::vector<T>& values)
        : array<T, device::device_memory>(on, values.size()), on_(&on) {
        copy_in(on, this->data(), values.data(), this->span().size_bytes(), nullptr);
    }

    /// @brief What is there after all that the stream holds; waits for it.
    std::vector<T> get(device::stream by) const {
        std::vector<T> values(this->span().size());
        copy_out(*on_, values.data(), this->data(), this->span().size_bytes(), by);
        return values;
    }

  private:
    driver* on_;
};

/// @brief Values whose sums depend on the order.
template <class T>
std::vector<T> draw(count_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(static_cast<std::size_t>(size));
    for (auto& value : values) {
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
        } else {
            value = static_cast<T>(random() % 100000) - static_cast<T>(50000);
        }
    }
    return values;
}

/// @brief What a call throws, or `success`.
template <class Call>
errc code_of(Call&& call) {
    try {
        call();
    } catch (const error& fault) {
        return fault.code();
    }
    return errc::success;
}

}  // namespace crossdock::device_test
