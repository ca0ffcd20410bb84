/// @file
/// @brief A hierarchy that hypre sets up on a model problem of its own; only in builds that have it.
#pragma once

#include <HYPRE_parcsr_ls.h>

#include <string>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/hypre.hpp"

namespace crossdock::bench {

/// @brief The matrices of all levels of BoomerAMG, finest first, each with its communication
/// package. Coarsening is by PMIS, the interpolation is ext+i.
///
/// | problem | what |
/// |---|---|
/// | `rotated:NXxNY` | diffusion at 45 degrees, anisotropy 0.001, 7 points |
/// | `7pt:NXxNYxNZ`, `27pt:NXxNYxNZ` | the Laplacian |
class boomer_amg {
  public:
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_argument)  there is no such problem, or it has fewer points
    /// in a dimension than there are blocks of ranks; on all ranks
    /// @throws error(errc::internal)          hypre failed
    boomer_amg(const communicator& comm, const std::string& problem);
    ~boomer_amg();
    boomer_amg(const boomer_amg&) = delete;
    boomer_amg& operator=(const boomer_amg&) = delete;

    /// @brief hypre keeps them.
    const std::vector<hypre_ParCSRMatrix*>& levels() const noexcept { return levels_; }

    /// @brief From each level but the finest to the next finer one.
    const std::vector<hypre_ParCSRMatrix*>& interpolations() const noexcept {
        return interpolations_;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;  // hypre's own
    HYPRE_ParCSRMatrix finest_ = nullptr;
    HYPRE_Solver solver_ = nullptr;
    std::vector<hypre_ParCSRMatrix*> levels_;
    std::vector<hypre_ParCSRMatrix*> interpolations_;
};

}  // namespace crossdock::bench
