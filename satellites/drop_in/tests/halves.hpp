/// @file
/// @brief Two groups of ranks with a communicator between them.
#pragma once

#include <mpi.h>

/// @brief An intercommunicator between rank 0 and all others, of which there is at least one.
class halves {
  public:
    explicit halves(int rank) : is_upper_(rank > 0) {
        MPI_Comm_split(MPI_COMM_WORLD, is_upper_, 0, &half_);
        MPI_Intercomm_create(half_, 0, MPI_COMM_WORLD, is_upper_ ? 0 : 1, 3, &both_);
    }
    ~halves() {
        MPI_Comm_free(&both_);
        MPI_Comm_free(&half_);
    }
    halves(const halves&) = delete;
    halves& operator=(const halves&) = delete;

    MPI_Comm both() const { return both_; }
    /// @brief Whether this rank is one of the others.
    bool is_upper() const { return is_upper_; }

  private:
    bool is_upper_;
    MPI_Comm half_ = MPI_COMM_NULL;
    MPI_Comm both_ = MPI_COMM_NULL;
};
