/// @file
/// @brief What the two ends of an edge send each other besides the plan.
#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <vector>

#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief Messages from rank to rank beside an exchange along a plan, with tags of the graph's and the plan's.
///
/// The edges that carry other lengths than planned go one by one; both ends of an edge know that. If CROSSDOCK_VERIFY
/// is set, all edges are sent again, and what comes is compared with what the exchange brought. Where a rank fails, its
/// messages are empty.
class edge_messages {
  public:
    /// @param call  borrowed until they are complete
    edge_messages(const neighbor_call& call, const planned_exchange& plan) noexcept;
    ~edge_messages();
    edge_messages(const edge_messages&) = delete;
    edge_messages& operator=(const edge_messages&) = delete;

    /// @brief Whether CROSSDOCK_VERIFY is set.
    static bool verifies();

    /// @brief Why this rank's messages are empty; null if they are not.
    const std::exception_ptr& failure() const noexcept { return failure_; }
    /// @brief The exchange has failed. The messages are still taken, but for those that may never come.
    void fail(std::exception_ptr why) noexcept;

    /// @pre the exchange is complete, or `fail` was called
    /// @throws error(errc::internal)     the exchange brought something else
    /// @throws error(errc::peer_failed)  a message is empty
    /// @throws                           `failure`
    void wait();
    /// @brief Whether they are complete; otherwise as `wait`.
    bool test();

  private:
    MPI_Request& added() { return requests_.emplace_back(MPI_REQUEST_NULL); }
    void pack(const side_layout& planned);
    void post_receives(const planned_exchange& plan);
    void post_sends(const planned_exchange& plan);
    void abandon() noexcept;
    void finish() const;
    void check() const;

    // Blocks that differ, one after the other.
    struct copied_blocks {
        side_layout layout;
        host_room room;
        std::byte* bytes;
    };
    // Null if they need none: none differ, or the side is not in a device's memory.
    static std::unique_ptr<copied_blocks> room_for(const call_side& side,
                                                   const side_layout& planned,
                                                   const device_copies* copies);

    // MPI reads and writes it.
    struct lent_memory {
        std::unique_ptr<copied_blocks> sent, received;
        // Of each neighbor; empty if CROSSDOCK_VERIFY is not set.
        std::vector<std::vector<std::byte>> sent_again, received_again;
    };

    const neighbor_call* call_;
    std::exception_ptr failure_;
    lent_memory lent_;
    std::vector<rank_t> sources_;  // of the first requests
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
};

}  // namespace crossdock::drop_in
