/// @file
/// @brief Sparse exchanges checked, and then timed against each other.
#pragma once

#include "bench/common/stopwatch.hpp"
#include "bench/exchange/problem.hpp"

namespace crossdock::bench::sparse {

/// @brief What is exchanged, and how long a contest lasts; equal on all ranks.
struct contest_options {
    message_values values = message_values::indices;
    int warm_ups = 10;
    int iterations = 100;
};

/// @brief What a contender's check found.
struct check_result {
    bool is_verified = false;
    exchange_traffic sent;  ///< by all ranks together
};

/// @brief How one contender did.
struct standing {
    std::string name;
    std::string algorithm;  ///< the library's that ran; empty if it was not the library
    check_result found;
    timing exchange_seconds;
};

/// @brief Checks every contender, then times them in turn as a `stopwatch` does.
///
/// The first one is MPI's: `mpi_alltoall` or `mpi_alltoallv`. Verified is what brings every rank
/// exactly the sources, counts and values that the matrix says.
/// @param algorithms  as `exchange_options::algorithm`
/// @return on rank 0; the times mean nothing on others
/// @par Collective
/// Yes; blocks.
/// @throws as `exchange`, on all ranks
std::vector<standing> contest(const communicator& comm, const topology& regions, const share& part,
                              const std::vector<std::string>& algorithms,
                              const contest_options& options);

}  // namespace crossdock::bench::sparse
