/// @file
/// @brief A call that is left to MPI, but whose turn comes later.
#pragma once

#include "block_messages.hpp"

namespace crossdock::drop_in {

/// @brief A message for each edge, as MPI sends them; with all ranks, most of which may have nothing for each other,
/// for each block that is not empty.
///
/// When a call has its turn, the program may have made other collective calls on its communicator, so that MPI's
/// function can no longer be called there.
class call_without_plan final : block_messages {
  public:
    /// @param call  borrowed until it is complete
    explicit call_without_plan(const neighbor_call& call);
    ~call_without_plan() { call_->on->end_messages(along_); }

    /// @brief Whether it is complete.
    /// @throws mpi_error  then, if a block has less room than was sent
    bool test() { return test_messages(); }

  private:
    void prepare();

    tagged_comm along_;
};

}  // namespace crossdock::drop_in
