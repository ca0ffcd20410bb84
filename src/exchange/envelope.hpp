/// @file
/// @brief Messages on their way, and how they are written in front of their bytes.
#pragma once

#include <cstddef>
#include <cstring>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief A message on its way; its bytes lie elsewhere.
struct envelope {
    rank_t source = 0;       ///< any number; the route does not look at it
    rank_t destination = 0;  ///< a rank of the route's topology
    count_t bytes = 0;
    const std::byte* data = nullptr;
    bool is_announced = false;  ///< its bytes do not take the route
};

/// @brief An envelope and where it goes: one of several bundles, or ranks of a domain.
struct placed_envelope {
    envelope message;
    std::size_t place = 0;
};

/// @brief The bytes that travel with an envelope.
inline count_t carried_bytes(const envelope& message) noexcept {
    return message.is_announced ? 0 : message.bytes;
}

/// @brief What is written of an envelope.
struct envelope_head {
    rank_t source;
    rank_t destination;
    count_t bytes;  ///< of an announced message, less than 0: -1 - bytes

    envelope_head() = default;
    explicit envelope_head(const envelope& message) noexcept
        : source(message.source),
          destination(message.destination),
          bytes(message.is_announced ? -1 - message.bytes : message.bytes) {}

    /// @param data  the bytes that travel with it
    envelope with(const std::byte* data) const noexcept {
        const bool is_announced = bytes < 0;
        return {source, destination, is_announced ? -1 - bytes : bytes,
                is_announced ? nullptr : data, is_announced};
    }
};

/// @brief Copies a value to bytes that need not be aligned.
/// @return what lies behind it
template <class Value>
std::byte* write_value(std::byte* to, const Value& value) noexcept {
    std::memcpy(to, &value, sizeof(Value));
    return to + sizeof(Value);
}

template <class Value>
Value read_value(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof(Value));
    return value;
}

}  // namespace crossdock
