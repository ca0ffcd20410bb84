/// @file
/// @brief What all ranks do in an exchange, as operations that wait for one another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

enum class operation_kind : std::uint8_t {
    send,     ///< needs no partner to be complete
    receive,  ///< complete when the message is here and taken
    copy,     ///< no message; copies only
};

/// @brief One operation of a rank.
struct operation {
    operation_kind kind = operation_kind::copy;
    bool is_hand_over = false;  ///< a message in shared memory: nothing is sent
    rank_t peer = -1;           ///< of a message
    int tag = 0;                ///< messages of one tag between two ranks keep their order
    count_t message_bytes = 0;
    count_t copied_bytes = 0;  ///< before a send, or after a receive
    count_t copied_items = 0;  ///< how many pieces those are
};

/// @brief The operations of all ranks; each begins when all that it requires is complete.
///
///     rank 1 of a path forwards what rank 0 sends to rank 2:
///         0: receive from 0        1: send to 2, requires 0
///
/// What requires nothing begins when its rank does, in order.
class schedule {
  public:
    /// @brief Begins the operations of the next rank, from rank 0.
    void begin_rank();

    /// @brief Adds an operation of the present rank.
    /// @param required  numbers of earlier operations of the same rank, each once
    /// @return its number: the operations of a rank count up from 0
    /// @throws error(errc::invalid_argument)  `required` names none of those
    std::uint32_t add(const operation& what, std::span<const std::uint32_t> required = {});

    rank_t num_ranks() const noexcept { return static_cast<rank_t>(first_operation_.size()); }
    std::size_t num_operations() const noexcept { return operations_.size(); }

    std::span<const operation> operations_of(rank_t rank) const;
    /// @brief What an operation requires, by the numbers that `add` gave.
    std::span<const std::uint32_t> required_by(rank_t rank, std::size_t number) const;

    /// @brief The place of a rank's first operation among those of all ranks.
    std::size_t first_operation(rank_t rank) const;

  private:
    std::vector<std::size_t> first_operation_;  // of each rank
    std::vector<operation> operations_;
    std::vector<std::size_t> first_required_{0};  // of each operation
    std::vector<std::uint32_t> required_;
};

}  // namespace crossdock
