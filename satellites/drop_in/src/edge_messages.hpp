/// @file
/// @brief What the two ends of an edge send each other besides the plan.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief Messages from rank to rank beside an exchange along a plan, on the twin of the communicator.
///
/// The edges that carry other lengths than planned go one by one; both ends of an edge know that. If CROSSDOCK_VERIFY
/// is set, all edges are sent again, and what comes is compared with what the exchange brought.
class edge_messages {
  public:
    /// @param call  borrowed until they are complete
    edge_messages(const neighbor_call& call, const planned_exchange& plan);

    /// @brief Whether CROSSDOCK_VERIFY is set.
    static bool verifies();

    /// @pre the exchange is complete
    /// @throws error(errc::internal)  the exchange brought something else
    void wait();
    /// @brief Whether they are complete; otherwise as `wait`.
    bool test();

  private:
    MPI_Request& added() { return requests_.emplace_back(MPI_REQUEST_NULL); }
    void send_again(const neighbor_call& call, int tag);
    void finish() const;
    void check() const;

    // Blocks that differ, of a side in a device's memory, one after the other.
    struct copied_blocks {
        side_layout layout;
        host_room room;
        std::byte* bytes;
    };
    static std::unique_ptr<copied_blocks> room_for(const call_side& side,
                                                   const side_layout& planned);

    const neighbor_call* call_;
    std::unique_ptr<copied_blocks> sent_;  // null if there are none
    std::unique_ptr<copied_blocks> received_;
    std::vector<MPI_Request> requests_;
    std::vector<std::vector<std::byte>> sent_again_;
    std::vector<std::vector<std::byte>>
        received_again_;  // of each source; empty if CROSSDOCK_VERIFY is not set
};

}  // namespace crossdock::drop_in
