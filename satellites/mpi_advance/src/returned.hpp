/// @file
/// @brief How functions end that return MPI's error classes.
#pragma once

#include <string>
#include <type_traits>

#include "crossdock/extend.hpp"

namespace crossdock::mpi_advance {

/// @brief Throws errc::invalid_argument where a pointer is null.
/// @param what  the argument's name, for the text
inline void require(const void* pointer, const char* what) {
    if (pointer == nullptr)
        throw error(errc::invalid_argument, std::string(what) + " is a null pointer");
}

/// @brief Runs `body`, which throws or returns a status; no exception leaves. `crossdock_last_error` then has its
/// sentence. No error handler is called.
template <class Body>
int returned(Body&& body) noexcept {
    const int were_called = crossdock_call_error_handlers(0);
    crossdock_status status = CROSSDOCK_SUCCESS;
    try {
        if constexpr (std::is_void_v<decltype(body())>)
            body();
        else
            status = body();
    } catch (...) {
        status = remember_error();
    }
    crossdock_call_error_handlers(were_called);
    return status == CROSSDOCK_SUCCESS ? MPI_SUCCESS : crossdock_last_error_class();
}

}  // namespace crossdock::mpi_advance
