/// @file
/// @brief The version of the headers, for C and C++. `configuration` tells that of the library.
#ifndef CROSSDOCK_VERSION_H
#define CROSSDOCK_VERSION_H

#define CROSSDOCK_VERSION_MAJOR 0
#define CROSSDOCK_VERSION_MINOR 1
#define CROSSDOCK_VERSION_PATCH 0
#define CROSSDOCK_VERSION "0.1.0"

/// @brief Whether the headers are of a version or a later one, for `#if`.
#define CROSSDOCK_VERSION_AT_LEAST(major, minor, patch) \
    (CROSSDOCK_VERSION_MAJOR > (major) ||               \
     (CROSSDOCK_VERSION_MAJOR == (major) &&             \
      (CROSSDOCK_VERSION_MINOR > (minor) ||             \
       (CROSSDOCK_VERSION_MINOR == (minor) && CROSSDOCK_VERSION_PATCH >= (patch)))))

#endif
