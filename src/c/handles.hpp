/// @file
/// @brief What is behind the handles of the C interface, and how its functions begin and end.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/crossdock.h"
#include "crossdock/neighbor/neighbor_exchange.hpp"
#include "crossdock/pattern/halo.hpp"

struct crossdock_communicator {
    crossdock::communicator value;
};
struct crossdock_topology {
    crossdock::topology value;
};
struct crossdock_pattern {
    crossdock::pattern value;
};
struct crossdock_halos {
    std::vector<crossdock::halo> value;
};
struct crossdock_plan {
    crossdock::plan value;
};
struct crossdock_neighbor {
    crossdock::neighbor_exchange value;
};

namespace crossdock::c {

/// @brief The status of the exception in flight, whose text `crossdock_last_error` then returns.
crossdock_status remember_error() noexcept;

/// @brief Runs `body`; no exception leaves.
template <class Body>
crossdock_status guarded(Body&& body) noexcept {
    try {
        body();
        return CROSSDOCK_SUCCESS;
    } catch (...) {
        return remember_error();
    }
}

/// @brief Throws errc::invalid_argument where a pointer is null.
/// @param what  the argument's name, for the text
void require(const void* pointer, const char* what);

/// @brief What a handle holds.
template <class Handle>
auto& value_of(Handle* handle, const char* what) {
    require(handle, what);
    return handle->value;
}

/// @brief An array of the caller's; null only if it is empty.
template <class T>
std::span<const T> array(const T* data, count_t length, const char* what) {
    if (length < 0)
        throw error(errc::invalid_argument,
                    std::string(what) + " has length " + std::to_string(length));
    if (length > 0) require(data, what);
    return {data, static_cast<std::size_t>(length)};
}

/// @brief Copies of what an array of handles holds.
template <class Handle>
auto values_of(Handle* const* handles, count_t length, const char* what) {
    std::vector<decltype(Handle::value)> values;
    for (const Handle* handle : array(handles, length, what))
        values.push_back(value_of(handle, what));
    return values;
}

/// @brief Gives a new handle through `result`.
template <class Handle, class Value>
void give(Handle** result, Value&& value) {
    *result = new Handle{std::forward<Value>(value)};
}

/// @brief Gives a number through `result`.
template <class Number, class Query>
crossdock_status give_number(Number* result, Query&& query) noexcept {
    return guarded([&] {
        require(result, "result");
        *result = static_cast<Number>(query());
    });
}

/// @brief Gives a text through `result`, to be freed with `crossdock_free`.
void give_text(char** result, const std::string& text);

/// @brief Frees a handle.
template <class Handle>
crossdock_status release(Handle* handle) noexcept {
    return guarded([&] { delete handle; });
}

/// @brief The options, or an error on all ranks if any of them compiles with a null pointer or with options
/// that are none.
neighbor_options agree_on_arguments(const communicator& comm, const crossdock_topology* topology,
                                    const crossdock_pattern* pattern, const char* route,
                                    const crossdock_options* options, const void* result);

/// @brief The options, or the defaults.
neighbor_options options_from(const crossdock_options* options);

}  // namespace crossdock::c
