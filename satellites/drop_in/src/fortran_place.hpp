/// @file
/// @brief Where a program in Fortran calls.
#pragma once

namespace crossdock::drop_in {

/// @brief Where this thread's call from Fortran goes back to, while its function in C runs; null in calls from C.
inline constinit thread_local const void* fortran_place [[gnu::tls_model("initial-exec")]] =
    nullptr;

}  // namespace crossdock::drop_in
