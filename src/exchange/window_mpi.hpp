/// @file
/// @brief What the algorithms with MPI windows share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "agreement.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

inline std::size_t unsigned_bytes(count_t bytes) { return static_cast<std::size_t>(bytes); }

/// @brief Bytes of a message behind a word, in whole words.
inline count_t record_bytes(count_t message_bytes) {
    return static_cast<count_t>(sizeof(std::int64_t)) + (message_bytes + 7) / 8 * 8;
}

/// @brief The agreement of all ranks, and the greatest number that one of them gave.
struct window_agreement {
    bool is_good = false;
    count_t greatest = 0;
};

/// @brief Reduces 6 words.
/// @par Collective
/// Yes; waits for all ranks.
window_agreement agree_on_window(const communicator& comm, const error_vote& own, count_t number);

/// @brief A window with as many bytes on every rank, or none. Who has it closes it, as that is collective.
class exchange_window {
  public:
    /// @param all_share_memory  whether all ranks can; equal on all
    explicit exchange_window(bool all_share_memory) : all_share_memory_(all_share_memory) {}

    /// @brief Makes one of `bytes` bytes in place of the one there is.
    /// @par Collective
    /// Yes; blocks.
    void make(const communicator& comm, count_t bytes);

    /// @par Collective
    /// Yes; blocks.
    void close();

    bool is_open() const { return window_ != MPI_WIN_NULL; }
    MPI_Win get() const { return window_; }
    std::byte* memory() const { return memory_; }

  private:
    bool all_share_memory_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::byte* memory_ = nullptr;
};

/// @brief Starts to put any number of bytes.
void put_bytes(MPI_Win window, const std::byte* data, count_t bytes, rank_t destination,
               MPI_Aint place);

}  // namespace crossdock
