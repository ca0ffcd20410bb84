/// @file
/// @brief What the algorithms with MPI windows share.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "agreement.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief The agreement of all ranks, and the greatest number that one of them gave.
struct window_agreement {
    bool is_good = false;
    count_t greatest = 0;
};

/// @brief Reduces 6 words.
/// @par Collective
/// Yes; waits for all ranks.
window_agreement agree_on_window(const communicator& comm, const error_vote& own, count_t number);

/// @brief Makes a window of `bytes` bytes on every rank.
/// @param all_share_memory  whether all ranks can; equal on all
/// @par Collective
/// Yes; blocks.
MPI_Win make_window(const communicator& comm, count_t bytes, bool all_share_memory,
                    std::byte*& memory);

/// @brief Starts to put any number of bytes.
void put_bytes(MPI_Win window, const std::byte* data, count_t bytes, rank_t destination,
               MPI_Aint place);

}  // namespace crossdock
