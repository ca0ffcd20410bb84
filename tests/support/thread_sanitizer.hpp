/// @file
/// @brief What tests must not do under ThreadSanitizer.
#pragma once

namespace crossdock::test {

/// @brief Whether processes may hand buffers over in memory that they share.
///
/// ThreadSanitizer knows one process. If another one took a buffer from one thread of this process and
/// gave it to the next, it sees both threads use the buffer and nothing between them: a race that is
/// none. `unit_stream` hands the same buffers over between processes that are objects of one.
#ifdef __SANITIZE_THREAD__
inline constexpr bool processes_may_share_memory = false;
#else
inline constexpr bool processes_may_share_memory = true;
#endif

}  // namespace crossdock::test
