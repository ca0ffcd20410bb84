/// @file
/// @brief The ids that the gather-scatter benchmark combines the copies of.
#pragma once

#include <string>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"

namespace crossdock::bench::gather {

/// @brief This rank's ids.
///
/// Of a matrix: each column that this rank's rows have an entry in, once, counted from 1. Of
/// `hex:N:K`: the points of a box of hexahedral elements of order N, K x K x K elements on each
/// rank, element by element, (N + 1)^3 points in each. Ranks lie in a box of nearly equal sides.
///
///     hex:1:1 on 2 ranks    rank 0: 1 2 4 5 7 8 10 11    rank 1: 2 3 5 6 8 9 11 12
/// @param file            hex:N:K, or as `load_workload`
/// @param partition_spec  as `load_workload`
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::invalid_argument)  N or K is no positive number, or there are too many points
/// @throws as `load_workload`, on all ranks
std::vector<count_t> make_ids(const communicator& comm, const std::string& file,
                              const std::string& partition_spec, const topology& regions);

}  // namespace crossdock::bench::gather
