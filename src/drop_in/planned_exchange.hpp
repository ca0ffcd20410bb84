/// @file
/// @brief Exchanges of one layout along a plan.
#pragma once

#include <mpi.h>

#include <vector>

#include "blocks.hpp"
#include "crossdock/neighbor_exchange.hpp"

namespace crossdock::drop_in {

/// @brief The two sides of a call, in bytes.
struct call_layout {
    side_layout sends;
    side_layout receives;

    friend bool operator==(const call_layout&, const call_layout&) = default;
};

/// @brief A plan for calls of one layout, and whether it is faster than MPI.
///
/// With two objects two exchanges can be under way; a third one waits for the first.
class planned_exchange {
  public:
    /// @param where, p  as `neighbor_exchange` takes them
    /// @param layout    of the calls that `p` was made of, in items of 2^`alignment` bytes
    /// @param depth     how many exchanges can be under way
    /// @par Collective
    /// Yes; blocks.
    planned_exchange(const context& where, const pattern& p, call_layout layout, int alignment,
                     std::size_t depth);

    const call_layout& layout() const noexcept { return layout_; }

    /// @brief Does a few exchanges of unspecified bytes along the plan and a few by MPI, and compares what they take on
    /// the slowest rank.
    /// @param twin  a communicator whose neighbors are those of the pattern
    /// @par Collective
    /// Yes; blocks.
    void compare_with_mpi(MPI_Comm twin);

    /// @brief Whether exchanges along the plan take less time than MPI's; true if they were not compared.
    bool is_faster() const noexcept { return is_faster_; }

    /// @brief The object for the next exchange; may be active still.
    /// @par Collective
    /// Yes; blocks when the second one is made.
    neighbor_exchange& next_instance();

    void start(neighbor_exchange& one, const std::byte* items, std::byte* slots) const;

  private:
    struct bytes_side;

    void exchange_bytes(bytes_side& sends, bytes_side& receives);

    call_layout layout_;
    int alignment_;
    std::size_t depth_;
    const communicator* comm_;
    std::vector<neighbor_exchange> instances_;
    std::size_t num_exchanges_ = 0;
    bool is_faster_ = true;
};

}  // namespace crossdock::drop_in
