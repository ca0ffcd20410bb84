/// @file
/// @brief A window into which any rank puts records for any other.
#pragma once

#include <vector>

#include "mailbox_mpi.hpp"
#include "window_mpi.hpp"

namespace crossdock {

/// @brief Memory of every rank for records of one size that others put there, and a counter of
/// tickets.
///
/// A sender draws a ticket from the receiver's counter and puts its record at that place, so that
/// the window holds what comes and not what could come from P ranks. Records lie in two halves that
/// exchanges use in turn, as one rank may be an exchange ahead of another. Where a window was too
/// small it is made larger on all ranks, and everything is put again.
///
///     half   tickets  source values  source values
///     even         2       3    a b       0    c d      .    . .
class put_window {
  public:
    /// @param all_share_memory  whether all ranks can; equal on all
    explicit put_window(bool all_share_memory) : window_(all_share_memory) {}

    /// @brief Puts messages of `message_bytes` bytes each and takes those that came.
    /// @param own    agreed on by all ranks in passing; with a fault nothing should be sent
    /// @param found  what came, in memory of the mailbox's inbox
    /// @return whether all votes are good; nothing is delivered otherwise
    /// @par Collective
    /// Yes; waits for all ranks.
    bool exchange(mailbox& mail, const std::vector<byte_message>& messages, count_t message_bytes,
                  const error_vote& own, std::vector<byte_message>& found);

    /// @par Collective
    /// Yes; blocks.
    void close() { window_.close(); }

  private:
    class half;

    void make(const communicator& comm, count_t half_bytes);

    exchange_window window_;
    count_t half_bytes_ = 0;
    bool is_odd_ = false;
};

}  // namespace crossdock
