/// @file
/// @brief PETSc itself, as long as a communicator needs it; only in builds that have it.
#pragma once

#include <petscsf.h>

#include <list>

#include "crossdock/communicator.hpp"

namespace crossdock::bench {

/// @brief Throws what PETSc says of a call that failed.
/// @throws error(errc::internal)
void check_petsc(PetscErrorCode code, const char* call);

#define CROSSDOCK_PETSC(call) ::crossdock::bench::check_petsc((call), #call)

/// @brief Keeps PETSc initialized, and its duplicate of a communicator, which every object on it would
/// duplicate anew otherwise. Owns star forests, because one that outlives PETSc keeps the
/// communicator from being freed.
class petsc_session final : public communicator_resource {
  public:
    explicit petsc_session(const communicator& comm);

    /// @brief PETSc's duplicate of the communicator.
    MPI_Comm get() const noexcept { return duplicate_; }

    std::list<PetscSF>::iterator create();
    void destroy(std::list<PetscSF>::iterator made);
    void close() override;

  private:
    static inline int num_open = 0;
    MPI_Comm duplicate_ = MPI_COMM_NULL;
    std::list<PetscSF> open_;
};

}  // namespace crossdock::bench
