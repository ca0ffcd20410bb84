/// @file
/// @brief A call that is left to MPI, but whose turn comes later.
#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief A message for each edge, as MPI sends them; with all ranks, most of which may have nothing for each other,
/// for each block that is not empty.
///
/// When a call has its turn, the program may have made other collective calls on its communicator, so that MPI's
/// function can no longer be called there. What is too long for its block fails as in MPI's function.
class call_without_plan {
  public:
    /// @param call  borrowed until it is complete
    explicit call_without_plan(const neighbor_call& call);
    ~call_without_plan();
    call_without_plan(const call_without_plan&) = delete;
    call_without_plan& operator=(const call_without_plan&) = delete;

    /// @brief Whether it is complete.
    /// @throws mpi_error  then, if MPI has refused a message or one was too long
    bool test();

  private:
    struct message {
        std::size_t block;
        typed_values values;
        std::vector<std::byte> copy;  // if the block is in a device's memory
        MPI_Request request = MPI_REQUEST_NULL;
    };

    void prepare();
    void compare_own() noexcept;
    void start() noexcept;
    void end(const message& one, const MPI_Status& status) noexcept;
    void note(int code) noexcept;

    const neighbor_call* call_;
    tagged_comm along_;
    std::vector<message> messages_;  // what is received comes first
    std::size_t num_received_ = 0;
    std::size_t num_complete_ = 0;
    std::exception_ptr failure_;
};

}  // namespace crossdock::drop_in
