/// @file
/// @brief An exchange by a message for each neighbor.
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "blocks.hpp"

namespace crossdock::drop_in {

/// @brief The edges of a graph at this rank, and how their messages are told from others.
struct graph_edges {
    MPI_Comm comm;
    int tag;
    std::span<const rank_t> sources;
    std::span<const rank_t> destinations;
    bool
        has_empty_messages;  ///< as MPI sends between neighbors; not with all ranks, most of which have nothing to send
};

/// @brief What becomes of a call that MPI is to do when its turn comes: by then the program may have made other
/// collective calls on its communicator, so that MPI's function for it can no longer be called there.
class neighbor_messages {
  public:
    /// @param sends, receives  borrowed until the exchange is complete
    neighbor_messages(const call_side& sends, const call_side& receives, const graph_edges& along);

    /// @brief Whether it is complete.
    /// @throws mpi_error  then, if a block has less room than was sent
    bool test();
    /// @brief Blocks in MPI; otherwise as `test`.
    void wait();

  private:
    void note(int code, const char* call);

    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    int failure_ = MPI_SUCCESS;
};

}  // namespace crossdock::drop_in
