/// @file
/// @brief A window with a place for every rank, between fences.
#pragma once

#include <vector>

#include "mailbox_mpi.hpp"
#include "window_mpi.hpp"

namespace crossdock {

/// @brief Memory of every rank with a place for a record of each rank: whoever has a message puts it at its own
/// place there, and after a fence every rank looks through all places.
///
///     place of rank   0         1         2
///     bytes + 1       17        0         17
///     values          a b       . .       c d
///
/// Several messages of a rank to another one lie in as many rows of P places.
class fence_window {
  public:
    /// @param all_share_memory  whether all ranks can; equal on all
    explicit fence_window(bool all_share_memory) : window_(all_share_memory) {}

    /// @brief Puts messages of `message_bytes` bytes each and takes those that came.
    /// @param own    agreed on by all ranks first; with a fault nothing should be sent
    /// @param found  what came, in memory of the mailbox's inbox
    /// @return whether all votes are good; nothing is put otherwise
    /// @par Collective
    /// Yes; waits for all ranks, in fences without making progress on other work.
    bool exchange(mailbox& mail, const std::vector<byte_message>& messages, count_t message_bytes,
                  const error_vote& own, std::vector<byte_message>& found);

    /// @brief As `exchange`, for messages of any size but 0, of which none go to the same rank.
    bool exchange_of_any_size(mailbox& mail, const std::vector<byte_message>& messages,
                              const error_vote& own, std::vector<byte_message>& found);

    /// @par Collective
    /// Yes; blocks.
    void close() { window_.close(); }

  private:
    void put_and_take(mailbox& mail, const std::vector<byte_message>& messages,
                      const std::vector<count_t>& rows, count_t num_rows, count_t message_bytes,
                      std::vector<byte_message>& found);
    void provide(const communicator& comm, count_t num_rows, count_t record_bytes);
    void put(mailbox& mail, const std::vector<byte_message>& messages,
             const std::vector<count_t>& rows) const;
    void take(byte_inbox& memory, std::vector<byte_message>& found) const;

    exchange_window window_;  // zeros between exchanges
    count_t window_bytes_ = 0;
    // Of this exchange:
    count_t num_ranks_ = 0;
    count_t num_rows_ = 0;
    count_t record_bytes_ = 0;
};

}  // namespace crossdock
