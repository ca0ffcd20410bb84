/// @file
/// @brief A multigrid hierarchy made of any matrix.
#pragma once

#include <string>
#include <vector>

#include "crossdock/communicator.hpp"
#include "tools/inputs/workload.hpp"

namespace crossdock::bench {

/// @brief Why this build can make no hierarchy; empty if it can.
std::string amg_obstacle();

/// @brief The matrices of all levels of BoomerAMG, finest first: hypre's, set up through PETSc, with
/// coarsening by PMIS and the interpolation ext+i. Every rank owns the rows that hypre leaves it.
/// @param finest  as of `make_amg_matrix` on rank 0; elsewhere it is not looked at
/// @return on rank 0; elsewhere as many workloads without rows
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::invalid_argument)  there is an obstacle; on all ranks
/// @throws error(errc::count_overflow)    a number does not fit PetscInt; on all ranks
/// @throws error(errc::internal)          PETSc failed
std::vector<workload> make_amg_levels(const communicator& comm, const workload& finest);

}  // namespace crossdock::bench
