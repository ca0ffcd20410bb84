/// @file
/// @brief What tests of all ranks have.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "crossdock/context.hpp"

namespace crossdock::test {

/// @brief Nothing waits here to be received.
inline void expect_no_message(MPI_Comm comm) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &is_there, MPI_STATUS_IGNORE);
        ASSERT_FALSE(is_there) << "a message of the library is left";
    }
}

/// @brief A communicator, which is closed after each test, and places in it.
class AllRanks : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    /// @brief This rank's of what all ranks have.
    template <class T>
    const T& mine(const std::vector<T>& of_all) const {
        return of_all[static_cast<std::size_t>(rank)];
    }

    communicator comm{MPI_COMM_WORLD};
    const rank_t rank = comm.rank();
    const rank_t num_ranks = comm.num_ranks();
    const rank_t last_rank = num_ranks - 1;
    const rank_t next = (rank + 1) % num_ranks;
    const rank_t previous = (rank + last_rank) % num_ranks;
    const bool is_last = rank == last_rank;
    const topology one_region = topology::one_region(num_ranks);
    const topology each_alone = topology::from_string(std::to_string(num_ranks) + "x1");
    const context where{comm, one_region};
};

}  // namespace crossdock::test
