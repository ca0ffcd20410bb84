/// @file
/// @brief What other modules ask of a stream of C.
#pragma once

#include "crossdock/crossdock.h"

namespace crossdock::c {

/// @brief The size of an item of the port's stream.
std::size_t item_bytes_of(const crossdock_stream_port& port);

}  // namespace crossdock::c
