/// @file
/// @brief What is numbered in a shared-memory schedule; each kind of number has a type of its own.
#pragma once

#include "../topology/memory_domain.hpp"

namespace crossdock {

/// @brief A section of an exchange buffer.
using section_number = strong_index<struct section_kind, int>;
/// @brief An arrival counter of an exchange buffer.
using counter_number = strong_index<struct counter_kind, int>;
/// @brief A slot of an exchange buffer.
using slot_number = strong_index<struct slot_kind, count_t>;
/// @brief A part that a rank sends: its place in `shared_memory_schedule::sends`.
using send_number = strong_index<struct send_kind, int>;
/// @brief A part that a rank receives: its place in `shared_memory_schedule::receives`.
using receive_number = strong_index<struct receive_kind, int>;

inline constexpr section_number no_section{-1};
inline constexpr counter_number no_counter{-1};

}  // namespace crossdock
