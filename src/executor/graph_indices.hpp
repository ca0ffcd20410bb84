/// @file
/// @brief What is numbered in a task graph; each kind of number has a type of its own.
#pragma once

#include <cstddef>

#include "../base/strong_index.hpp"
#include "crossdock/types.hpp"

namespace crossdock {

/// @brief A message in `task_graph::incoming`.
using incoming_number = strong_index<struct incoming_kind, std::size_t>;
/// @brief A message in `task_graph::outgoing`.
using outgoing_number = strong_index<struct outgoing_kind, std::size_t>;
/// @brief An item of the incoming messages, counted over all of them.
using arrived_item = strong_index<struct arrived_kind, count_t>;
/// @brief An item of the outgoing messages, counted over all of them.
using departing_item = strong_index<struct departing_kind, count_t>;
/// @brief An item of one message, counted in it.
using message_item = strong_index<struct message_item_kind, count_t>;

}  // namespace crossdock
