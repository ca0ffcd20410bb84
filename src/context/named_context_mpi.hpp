/// @file
/// @brief A context among the arguments that ranks compare.
#pragma once

#include "../base/named_values_mpi.hpp"
#include "crossdock/context.hpp"

namespace crossdock {

/// @brief Adds a context's topology, its nodes and its machine, where it has its own.
void add_context(named_values& values, const context& where);

}  // namespace crossdock
