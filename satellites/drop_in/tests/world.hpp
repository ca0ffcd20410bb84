/// @file
/// @brief Ranks that count what is wrong, and two groups of them with a communicator between them.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>

/// @brief This rank of a communicator.
struct world {
    int rank = 0;
    int num_ranks = 0;
    int num_faults = 0;

    void expect(bool is_right, const std::string& what) {
        if (is_right) return;
        ++num_faults;
        std::printf("rank %d: %s\n", rank, what.c_str());
    }
};

/// @brief Starts MPI, and calls `run(world)`.
/// @return the program's exit status, the same on all ranks
template <class Run>
int run_on_all(int& argc, char**& argv, Run&& run) {
    MPI_Init(&argc, &argv);
    world in;
    MPI_Comm_rank(MPI_COMM_WORLD, &in.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &in.num_ranks);
    run(in);
    MPI_Allreduce(MPI_IN_PLACE, &in.num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return in.num_faults > 0;
}

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
