/// @file
/// @brief Asking for memory before it is written.
#pragma once

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Asks for the cache line there, to write it, also if another core holds it.
///
/// What compilers make of `__builtin_prefetch` for x86-64 asks for a copy to be read, and the write then
/// has to ask again. Processors that do not know the instruction do nothing.
inline void prefetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
    __asm__("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}

}  // namespace crossdock
