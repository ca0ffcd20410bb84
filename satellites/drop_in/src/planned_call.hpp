/// @file
/// @brief One exchange of a call along a plan, and what two ranks send each other beside it.
#pragma once

#include <mpi.h>

#include <exception>

#include "message_beside.hpp"
#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief A call that goes along a plan.
///
/// Blocks that the plan cannot carry, since they do not have the planned length, go from rank to rank beside it: the
/// sender knows which, and the receiver learns it from the plan. If CROSSDOCK_VERIFY is set, the blocks that the plan
/// carries are sent again, and what comes is compared with what the plan brought.
///
/// A rank that fails before it starts takes part with nothing. A rank that lacks something by another's failure cannot
/// know which blocks were sent beside the plan. It takes what comes in its later calls.
class planned_call {
  public:
    using sides_as_planned = planned_exchange::instance::sides_as_planned;

    /// @brief Prepares it; what fails is told by `wait` or `test`.
    /// @param call  borrowed until it is complete
    /// @param are   the call's `lies_as_planned`
    planned_call(const neighbor_call& call, planned_exchange::instance& along,
                 sides_as_planned are) noexcept;
    planned_call(const neighbor_call& call, planned_exchange::instance& along) noexcept
        : planned_call(call, along, along.lies_as_planned(call.sends, call.receives)) {}

    planned_call(const planned_call&) = delete;
    planned_call& operator=(const planned_call&) = delete;

    /// @brief Whether CROSSDOCK_VERIFY is set.
    static bool verifies();

    /// @brief Starts the exchange; what fails is told by `wait` or `test`.
    void start() noexcept;
    /// @brief Blocks in MPI until it is complete. Another call may have begun to go along the plan before that.
    /// @throws error(errc::internal)     the plan brought something else than MPI
    /// @throws error(errc::peer_failed)  another rank's call has failed
    /// @throws mpi_error  a block has less room than was sent, or this rank's call has failed
    void wait();
    /// @brief Whether it is complete; otherwise as `wait`.
    bool test();

  private:
    void pack();
    void receive();
    template <class End>
    bool end_by(End&& end_exchange);
    void fail(std::exception_ptr why) noexcept;
    void keep_strays();

    // The message of block `i`, with the next tag if the block is to be compared.
    message_beside& add(messages_beside& to, const neighbors& all, std::size_t i,
                        bool is_again) const;
    bool test_messages();
    void take_received();
    typed_values memory_for(message_beside& one, count_t num_bytes) const;
    void end(const message_beside& one);
    void compare(const message_beside& one) const;
    void note(std::exception_ptr why) noexcept;
    void note_truncation() noexcept;

    const neighbor_call* call_;
    planned_exchange::instance* along_;
    sides_as_planned are_;
    bool is_along_ = false;  // the exchange is under way
    messages_beside sent_, received_;
    std::exception_ptr failure_;
};

}  // namespace crossdock::drop_in
