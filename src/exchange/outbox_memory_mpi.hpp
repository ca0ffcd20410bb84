/// @file
/// @brief The memory of a communicator's shared outboxes.
#pragma once

#include <optional>

#include "../base/shared_window_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"
#include "shared_outboxes.hpp"

namespace crossdock {

/// @brief The outboxes of this rank's node, made when they are first asked for.
class outbox_memory {
  public:
    /// @param nodes  the nodes of `comm`
    /// @par Collective
    /// Yes, over `comm`; blocks where they are made.
    /// @throws error(errc::out_of_memory)  a node has not so much memory to share; on all ranks
    shared_outboxes& of(const communicator& comm, const topology& nodes);

    bool is_made() const noexcept { return outboxes_.has_value(); }

    /// @par Collective
    /// Yes; blocks.
    void close();

  private:
    std::optional<communicator> node_;  // unless all ranks are one
    shared_window window_;
    std::optional<shared_outboxes> outboxes_;
};

}  // namespace crossdock
