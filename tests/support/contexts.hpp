/// @file
/// @brief Contexts of a communicator that a test has already.
#pragma once

#include "crossdock/context.hpp"

namespace crossdock::test {

/// @brief All ranks are one region.
inline context one_region(const communicator& comm) {
    return {comm, topology::one_region(comm.num_ranks())};
}

}  // namespace crossdock::test
