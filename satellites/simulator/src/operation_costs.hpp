/// @file
/// @brief What the operations of a schedule cost on a machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/detail/base/picoseconds.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief The times of each operation, by its number over all ranks; the arguments are borrowed.
///
/// Both operations of a message, its send and its receive, have the same times for its way.
class operation_costs {
  public:
    operation_costs(const rank_layout& layout, const schedule& s, const machine& m);

    rank_t rank_of(std::uint32_t number) const { return rank_of_[number]; }
    const operation& at(std::uint32_t number) const { return operations_[number]; }
    /// @brief The locality of the two ends of a message; of a copy that of a rank to itself.
    locality_level level_of(std::uint32_t number) const;

    picoseconds copying(std::uint32_t number) const;

    /// @brief The time of a core beside copying, 0 without a message. Where ranks share cores, each
    /// end also takes half of what the bytes of the message cost.
    /// @param level       as `level_of`
    /// @param num_passed  what MPI looked at before it found the message or its receive
    picoseconds overhead(std::uint32_t number, locality_level level,
                         std::uint32_t num_passed) const;

    bool is_rendezvous(std::uint32_t number) const;
    picoseconds eager_latency(std::uint32_t number) const;
    picoseconds rendezvous_latency(std::uint32_t number) const;

    /// @brief How long a message occupies the links of its ranks, and of their nodes; 0 where ranks
    /// share cores, which then carry the bytes.
    picoseconds rank_link_time(std::uint32_t number) const;
    picoseconds node_link_time(std::uint32_t number) const;

  private:
    const protocol_parameters& protocol_of(std::uint32_t number) const {
        return machine_.at(level_of(number)).protocol_of(at(number).message_bytes);
    }

    const rank_layout& layout_;
    std::span<const operation> operations_;
    const machine& machine_;
    std::vector<rank_t> rank_of_;
};

}  // namespace crossdock
