/// @file
/// @brief The algorithms in which messages are put into windows of MPI.
#pragma once

#include <vector>

#include "../mailbox_mpi.hpp"

namespace crossdock {

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
    /// @return whether all votes are good; nothing is delivered otherwise
    /// @par Collective
    /// Yes; waits for all ranks.
    bool exchange(const exchange_task& task, count_t message_bytes);

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
    /// @return whether all votes are good; nothing is put otherwise
    /// @par Collective
    /// Yes; waits for all ranks, in fences without making progress on other work.
    bool exchange(const exchange_task& task, count_t message_bytes);

    /// @brief As `exchange`, for messages of any size but 0, of which none go to the same rank.
    bool exchange_of_any_size(const exchange_task& task);

    /// @par Collective
    /// Yes; blocks.
    void close() { window_.close(); }

  private:
    void put_and_take(const exchange_task& task, const std::vector<count_t>& rows, count_t num_rows,
                      count_t message_bytes);
    void provide(const communicator& comm, count_t num_rows, count_t record_bytes);
    void put(const exchange_task& task, const std::vector<count_t>& rows) const;
    void take(const exchange_task& task) const;

    exchange_window window_;  // zeros between exchanges
    count_t window_bytes_ = 0;
    // Of this exchange:
    count_t num_ranks_ = 0;
    count_t num_rows_ = 0;
    count_t record_bytes_ = 0;
};

}  // namespace crossdock
