/// @file
/// @brief How the ranks get their parts of a workload.
#pragma once

#include "crossdock/communicator.hpp"
#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

/// @brief Rank 0 makes the parts of all ranks, with what must come out, and sends each its own.
/// @par Collective
/// Yes; blocks. Only rank 0 ever holds more than one part.
/// @throws as `make_work`, on all ranks
rank_work distribute(const communicator& comm, const workload_options& options);

}  // namespace crossdock::bench::array
