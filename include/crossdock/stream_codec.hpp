/// @file
/// @brief How items of any size become bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief To be specialised for types that are not trivially copyable; here for strings and
/// vectors.
///
/// | member | gives |
/// |---|---|
/// | `num_bytes(item)` | the bytes that `write` needs |
/// | `write(item, to)` | writes them to `std::byte* to`, which may be null if they are none |
/// | `read(bytes)` | the item, from `std::span<const std::byte>` of that size |
template <class T>
struct stream_codec;

template <>
struct stream_codec<std::string> {
    static std::size_t num_bytes(const std::string& item) { return item.size(); }
    static void write(const std::string& item, std::byte* to) {
        if (!item.empty()) std::memcpy(to, item.data(), item.size());
    }
    static std::string read(std::span<const std::byte> bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

template <class Value>
requires std::is_trivially_copyable_v<Value>
struct stream_codec<std::vector<Value>> {
    static std::size_t num_bytes(const std::vector<Value>& item) {
        return item.size() * sizeof(Value);
    }
    static void write(const std::vector<Value>& item, std::byte* to) {
        if (!item.empty()) std::memcpy(to, item.data(), num_bytes(item));
    }
    static std::vector<Value> read(std::span<const std::byte> bytes) {
        std::vector<Value> item(bytes.size() / sizeof(Value));
        if (!item.empty()) std::memcpy(item.data(), bytes.data(), bytes.size());
        return item;
    }
};

}  // namespace crossdock
