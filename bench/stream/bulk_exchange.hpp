/// @file
/// @brief The exchange that streams are compared with: by hand, in rounds, with MPI_Alltoallv.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/communicator.hpp"

namespace crossdock::bench::streaming {

/// @brief Words of the threads of each process for those of all, a round at a time.
///
/// Each thread writes straight into one segment for each worker of each rank, so nothing is counted or
/// moved before it is sent; a segment has room for all words of the thread's round, and pages of it
/// that are never reached cost nothing. MPI_Alltoall brings the counts, and MPI_Alltoallv the words:
/// one call for each pair of threads, one in all with one thread to a process. What stays in the
/// process is read where it was written.
///
///     round:  begin, add ... add   |  exchange   |  for_each_segment   (| exchange_back)
///     by      every thread         |  the first  |  every thread       (| the first)
///
/// Threads meet where the bars are; and before the next round.
class bulk_exchange {
  public:
    /// @param round_items  of a process
    bulk_exchange(const communicator& comm, int num_workers, count_t round_items);

    /// @brief How many words a thread may add in a round.
    std::uint64_t thread_items() const noexcept { return thread_items_; }

    /// @brief Where a thread's next word for each worker goes, all workers of rank 0 first. Valid until
    /// the next round; whoever writes a word there moves it on.
    std::span<std::uint64_t*> begin(int worker);

    /// @brief What a thread has written for a worker.
    std::span<std::uint64_t> segment(int thread, std::size_t owner) {
        std::uint64_t* const first = start(thread, owner);
        return {first, cursors_[static_cast<std::size_t>(thread)][owner]};
    }

    /// @par Collective
    /// Yes; blocks.
    void exchange();

    /// @brief Calls `use(span)` for all words that are for a worker of this process.
    template <class Use>
    void for_each_segment(int worker, Use&& use) {
        const auto own = static_cast<std::size_t>(comm_.rank() * num_workers_ + worker);
        for (int thread = 0; thread < num_workers_; ++thread) use(segment(thread, own));
        if (comm_.num_ranks() == 1) return;
        for (int thread = 0; thread < num_workers_; ++thread) {
            const leg& part = legs_[leg_number(thread, worker)];
            use(std::span(received_).subspan(part.first_received, part.num_received));
        }
    }

    /// @brief Brings the words of `for_each_segment`, changed meanwhile, back to where they were
    /// written.
    /// @par Collective
    /// Yes; blocks.
    void exchange_back();

  private:
    // What threads of one number send to workers of one number.
    struct leg {
        std::vector<int> send_counts;
        std::vector<int> send_offsets;  // from the thread's first word
        std::vector<int> receive_counts;
        std::vector<int> receive_offsets;  // from the leg's first word
        std::size_t first_received = 0;
        std::size_t num_received = 0;
    };

    std::size_t leg_number(int thread, int worker) const {
        return static_cast<std::size_t>(thread * num_workers_ + worker);
    }
    std::uint64_t* start(int thread, std::size_t owner) {
        return words_[static_cast<std::size_t>(thread)].get() + owner * thread_items_;
    }
    void exchange_counts();

    const communicator& comm_;
    int num_workers_;
    std::uint64_t thread_items_;
    std::vector<std::unique_ptr<std::uint64_t[]>> words_;
    std::vector<std::vector<std::uint64_t*>> cursors_;
    std::vector<leg> legs_;
    std::vector<int> counts_to_;  // by rank, then leg
    std::vector<int> counts_from_;
    std::vector<std::uint64_t> received_;
};

}  // namespace crossdock::bench::streaming
