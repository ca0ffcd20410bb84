/// @file
/// @brief Schedules: the sends, receives and copies of all ranks, with their dependencies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What a rank does in an operation.
enum class operation_kind : std::uint8_t {
    send,     ///< complete without the receiver
    receive,  ///< complete when the message has come and its items are copied
    copy,     ///< copies items; there is no message
};

/// @brief One operation of a rank.
struct operation {
    operation_kind kind = operation_kind::copy;
    bool is_hand_over = false;  ///< the items go through shared memory, without a message
    rank_t peer = -1;           ///< destination of a send, source of a receive
    int tag = 0;                ///< messages of one tag between two ranks keep their order
    count_t message_bytes = 0;
    count_t copied_bytes = 0;  ///< before a send, or after a receive
    count_t copied_items = 0;  ///< the number of pieces in which they are copied
};

/// @brief The operations of all ranks. An operation begins when all those that it requires are
/// complete.
///
///     rank 1 of a path forwards what rank 0 sends to rank 2:
///         0: receive from 0        1: send to 2, requires 0
///
/// Operations that require nothing begin with their rank, in the order in which they were added.
class schedule {
  public:
    /// @brief Begins the operations of the next rank, from rank 0.
    void begin_rank();

    /// @brief Adds an operation of the rank that was begun last.
    /// @param required  numbers of earlier operations of the same rank, each once
    /// @return its number; the operations of a rank are numbered from 0
    /// @throws error(errc::invalid_argument)  an entry of `required` is no earlier operation
    std::uint32_t add(const operation& what, std::span<const std::uint32_t> required = {});

    rank_t num_ranks() const noexcept { return static_cast<rank_t>(first_operation_.size()); }
    std::size_t num_operations() const noexcept { return operations_.size(); }

    /// @brief The operations of all ranks, rank by rank.
    std::span<const operation> operations() const noexcept { return operations_; }
    std::span<const operation> operations_of(rank_t rank) const;
    /// @brief The numbers of the operations that an operation requires.
    std::span<const std::uint32_t> required_by(rank_t rank, std::size_t number) const;

    /// @brief The index of a rank's first operation among the operations of all ranks.
    std::size_t first_operation(rank_t rank) const;

  private:
    std::vector<std::size_t> first_operation_;  // of each rank
    std::vector<operation> operations_;
    std::vector<std::size_t> first_required_{0};  // of each operation
    std::vector<std::uint32_t> required_;
};

}  // namespace crossdock
