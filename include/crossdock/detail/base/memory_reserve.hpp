/// @file
/// @brief Memory that is set aside for what a rank owes to others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A block that is given back to the system when there is no memory left.
class memory_reserve {
  public:
    /// @brief Sets the block aside, unless it is there. Leaves it at that where there is no memory.
    static void keep() noexcept {
        if (block().load(std::memory_order_relaxed) == nullptr)
            std::free(block().exchange(std::malloc(num_bytes)));
    }
    static void give_back() noexcept { std::free(block().exchange(nullptr)); }

  private:
    static constexpr std::size_t num_bytes = std::size_t{1} << 17;

    static std::atomic<void*>& block() noexcept {
        static std::atomic<void*> one{nullptr};
        return one;
    }
};

/// @brief Calls `part`; where there is no memory for it, gives back the reserve and calls it again. For what others
/// wait for, or what all have agreed on already.
/// @param part  leaves no trace if it throws
template <class Part>
decltype(auto) with_reserve(Part&& part) {
    try {
        return part();
    } catch (const std::bad_alloc&) {
        memory_reserve::give_back();
    }
    return part();
}

/// @brief Appends what others wait for.
template <class Values, class Value>
void append_with_reserve(Values& values, const Value& value) {
    with_reserve([&] { values.push_back(value); });
}

/// @brief `resize`, for what others wait for.
template <class Values>
void resize_with_reserve(Values& values, std::size_t size) {
    with_reserve([&] { values.resize(size); });
}

}  // namespace crossdock
