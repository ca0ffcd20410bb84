/// @file
/// @brief PETSc's star forest, which reads and updates values of other ranks.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "crossdock/communicator.hpp"

namespace crossdock::bench {

/// @brief Why this build has no star forests of the type; empty if it does.
std::string petsc_obstacle(const std::string& type);

/// @brief A PetscSF: every leaf of this rank is joined to one root of some rank.
///
///     rank 0   roots a b   leaves b c    owners 0 1, root_indices 1 0
///     rank 1   root  c     leaf   a      owners 0,   root_indices 0
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close()` |
/// | closed | destruction, `close()` | |
///
/// The first one initializes PETSc. The communicator's own `close()` destroys what was not closed, and
/// finalizes PETSc with the last communicator that used it; that must precede MPI_Finalize.
class petsc_sf {
  public:
    /// @brief Makes the star forest and sets it up, so that no exchange pays for that.
    /// @param comm          borrowed for the call; not kept
    /// @param num_roots     values of this rank that leaves may be joined to
    /// @param owners        leaf i is joined to a root of rank `owners[i]`
    /// @param root_indices  and there to this one, from 0
    /// @param type          PETSc's name of the implementation: "basic" or "neighbor", or this library's "crossdock"
    /// @pre `root_indices[i]` is below `num_roots` of its owner; PETSc does not check it
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_argument)  this build has no PETSc
    /// @throws error(errc::size_mismatch)     `owners` and `root_indices` differ in length
    /// @throws error(errc::rank_out_of_range) an owner is not a rank
    /// @throws error(errc::count_overflow)    a number does not fit PetscInt
    /// @throws error(errc::internal)          PETSc failed; all but this on all ranks
    petsc_sf(const communicator& comm, count_t num_roots, std::span<const rank_t> owners,
             std::span<const count_t> root_indices, const std::string& type = "basic");

    /// Does not communicate: what was not closed is left to the communicator.
    ~petsc_sf();
    petsc_sf(const petsc_sf&) = delete;
    petsc_sf& operator=(const petsc_sf&) = delete;

    /// @brief Copies to every leaf its root (PetscSFBcast).
    /// @par Collective
    /// Yes; may block.
    void read(std::span<const double> roots, std::span<double> leaves);

    /// @brief Combines every root with all of its leaves (PetscSFReduce).
    /// @param operation  MPI_SUM, MPI_MIN or another that PETSc knows
    /// @par Collective
    /// Yes; may block.
    void update(std::span<const double> leaves, std::span<double> roots, MPI_Op operation);

    /// @brief PetscSFBcastBegin with values of a datatype; `finish_read` with the same arguments completes it.
    /// @par Collective
    /// Yes; may block.
    void start_read(const void* roots, void* leaves, MPI_Datatype unit);
    void finish_read(const void* roots, void* leaves, MPI_Datatype unit);

    /// @brief PetscSFReduceBegin; `finish_update` with the same arguments completes it.
    /// @param unit  MPI_DOUBLE, or contiguous values of it
    /// @par Collective
    /// Yes; may block.
    void start_update(const void* leaves, void* roots, MPI_Datatype unit, MPI_Op operation);
    void finish_update(const void* leaves, void* roots, MPI_Datatype unit, MPI_Op operation);

    /// @brief Destroys the star forest.
    /// @par Collective
    /// Yes; may block.
    void close();

  private:
    struct forest;
    std::unique_ptr<forest> forest_;
};

}  // namespace crossdock::bench
