/// @file
/// @brief How functions under gslib's names end: they have no status, and throw nothing.
#pragma once

#include <exception>
#include <string>

#include "crossdock/error.hpp"

namespace crossdock::gslib {

/// @brief The sentence of the last call of this thread that failed.
inline std::string& last_error() {
    static thread_local std::string sentence;
    return sentence;
}

/// @brief Runs `body`; no exception leaves.
template <class Body>
bool succeeds(Body&& body) noexcept {
    try {
        body();
        return true;
    } catch (const std::exception& fault) {
        try {
            last_error() = fault.what();
        } catch (...) {
            last_error().clear();
        }
        return false;
    }
}

/// @throws error(errc::invalid_argument)  `pointer` is null
template <class T>
T& required(T* pointer, const char* what) {
    if (pointer) return *pointer;
    throw error(errc::invalid_argument, std::string(what) + " is a null pointer");
}

}  // namespace crossdock::gslib
