/// @file
/// @brief What other modules ask of a stream of C.
#pragma once

#include "crossdock/crossdock.h"

namespace crossdock::c {

/// @brief Whether an item of so many bytes fits the port's stream. What is wrong with a null port, a push says.
crossdock_status item_status(const crossdock_stream_port* port, int64_t num_bytes);

}  // namespace crossdock::c
