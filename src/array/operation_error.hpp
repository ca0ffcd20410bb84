/// @file
/// @brief What is thrown where an operation of the user throws.
#pragma once

#include "crossdock/error.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

/// @brief The exception that is being handled, with the rank and the index where an operation threw
/// it.
///
/// An `error` keeps its code; anything else is the user's mistake, errc::invalid_argument.
/// @pre called in a handler
error operation_error(rank_t rank, count_t index);

}  // namespace crossdock
