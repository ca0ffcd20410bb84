/// @file
/// @brief Schedules: the sends, receives and copies of all ranks with their dependencies, of plans and of sparse exchanges.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/price.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What a rank does in an operation.
enum class operation_kind : std::uint8_t {
    send,     ///< complete without the receiver
    receive,  ///< complete when the message has come and its items are copied
    copy,     ///< copies items; there is no message
};

/// @brief How MPI finds the message of a receive.
enum class matching_kind : std::uint8_t {
    posted,  ///< the receive names the message: whichever of the two comes last searches for the other
    probed,  ///< a probe from any source takes the first of the unexpected messages with its tag
    known,   ///< nothing is searched: an answer that names its request, a ticket or a put
};

/// @brief One operation of a rank.
struct operation {
    operation_kind kind = operation_kind::copy;
    matching_kind matching = matching_kind::posted;  ///< of a receive
    bool is_hand_over = false;  ///< the items go through shared memory, without a message
    rank_t peer = -1;           ///< destination of a send, source of a receive
    int tag = 0;                ///< messages of one tag between two ranks keep their order
    count_t message_bytes = 0;
    count_t copied_bytes = 0;  ///< before a send, or after a receive
    count_t copied_items = 0;  ///< the number of pieces in which they are copied
};

/// @brief The operations of all ranks. An operation begins when all those that it requires are complete.
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

/// @brief The schedule by which the executor runs plans. A message leaves when all items that it forwards have come.
/// @param plans  of one route, entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many plans as ranks
/// @par Complexity
/// Linear in the plans, with a binary search for each item that a rank forwards.
[[nodiscard]] schedule schedule_of(const rank_layout& layout, std::span<const plan> plans,
                                   const travel_options& options = {});

/// @brief The tag of a message in the schedule, which says what the message is for.
enum exchange_tag : int {
    message_tag = 0,            ///< the user's message, or a bundle to another region
    announced_tag = 1,          ///< a long message, which travels directly beside a route
    ticket_tag = 2,             ///< a request for a ticket at a receiver's window, and the reply
    acknowledgement_tag = 3,    ///< an empty message: another one was received
    memory_tag = 4,             ///< what a rank hands another one of its node in memory
    first_collective_tag = 16,  ///< rounds of a collective over all ranks, one tag each
    first_stage_tag = 256,      ///< stages of a route, one tag each
};

/// @brief How long a message is to whom; for counting, not for sending.
struct sized_message {
    rank_t destination = 0;
    count_t bytes = 0;
};

/// @brief What every rank sends in an exchange, without any MPI: exactly what `exchange_options::sent` of each rank
/// would say.
///
///     "2x2", one message of 8 bytes from 0 to 3; a bundle has 48 bytes and 16 for every envelope
///
///     nonblocking            0: 8 to 3
///     locality_nonblocking   0: 48 to 1, 72 to 2    1: 48 to 0    2: 72 to 3    3: 48 to 2
///
/// @param messages             entry p for rank p: what it sends, in any order, destinations may repeat
/// @param regions              of `shared_memory` the nodes
/// @param max_forwarded_bytes  of `exchange_options`; `auto_max_forwarded_bytes` under "auto"
/// @param m                    chooses the route inside the regions, for algorithms by region
/// @return entry p for rank p
/// @throws error(errc::size_mismatch)      there are not as many entries as ranks
/// @throws error(errc::rank_out_of_range)  a destination is not a rank
/// @throws error(errc::invalid_argument)   a count of bytes is negative, or messages differ in size of a method that
/// `takes_one_size_only`
/// @throws as `make_route`, for `routed`
/// @par Complexity
/// Memory linear in the messages. Time linear in the hops of all messages, and in the partners of all ranks on the
/// route: P^2 for `routed:direct`.
std::vector<exchange_traffic> count_exchange(
    const topology& regions, std::span<const std::vector<sized_message>> messages,
    const exchange_algorithm& algorithm,
    count_t max_forwarded_bytes = std::numeric_limits<count_t>::max(),
    const machine& m = default_machine());

/// @brief Whether `count_exchange` counts a message with this tag.
constexpr bool is_counted(int tag) noexcept {
    return tag == message_tag || tag == announced_tag || tag >= first_stage_tag;
}

/// @brief The schedule of a sparse data exchange: what all ranks send, receive and copy.
///
/// Messages with a tag that `is_counted` are exactly those of `count_exchange`. The others are
///
/// | method | other messages |
/// |---|---|
/// | `personalized`, `locality_personalized` | an allreduce of P + 6 words, when messages have left |
/// | `reduce_scatter` | a reduce-scatter of 6 P words, when messages have left |
/// | `nonblocking`, `locality_nonblocking` | an acknowledgement of every message; an allreduce of 6 words |
/// | `rma` | 8 bytes to every receiver and back; an acknowledgement of every message; an allreduce of 6 words |
/// | `rma_fence`, `locality_rma` | an allreduce of 6 words; a barrier before puts, a reduce-scatter of P counts after |
/// | `shared_memory` | what a rank hands each other one of its region, before and after those between regions |
/// | `routed` | nothing |
///
/// Messages are `probed` for: after the collective that counts them, for each stage of a route, or, with
/// acknowledgements, at any time. A rank enters an allreduce after acknowledgements when all of its own have arrived.
/// Receives of collectives and of long messages beside a route are `posted`. Acknowledgements, tickets, puts and
/// what is handed over in memory are `known`.
///
/// An allreduce of up to 2048 bytes is recursive doubling. A longer one is recursive halving and
/// then doubling; a reduce-scatter is recursive halving. If the number of ranks is not a power of
/// two, some ranks first send their vector to a neighbor, and get the result from it in the end. A
/// rank copies what it reduces once. It gathers a bundle where it sends it.
///
/// The core of a window's owner hands out tickets and answers puts as if they were messages, as MPI
/// does where the network has no atomic operations. The schedule assumes that every window is large
/// enough, and does not divide messages of more than `exchange_options::max_message_bytes`.
/// @param messages, max_forwarded_bytes, m  as in `count_exchange`
/// @throws as `count_exchange`
/// @par Complexity
/// Time and memory linear in the messages; a collective has P log P of them.
/// @par Source
/// \cite thakur2005collective for the collectives; `exchange_algorithm` for the rest.
[[nodiscard]] schedule schedule_of_exchange(
    const topology& regions, std::span<const std::vector<sized_message>> messages,
    const exchange_algorithm& algorithm,
    count_t max_forwarded_bytes = std::numeric_limits<count_t>::max(),
    const machine& m = default_machine());

/// @brief The unit of time of a schedule in GOAL. LogGOPSim takes whole numbers only.
enum class goal_unit : std::uint8_t { nanosecond, picosecond };

/// @brief Writes a schedule in GOAL, the text that LogGOPSim's txt2bin reads.
///
///     rank 0 sends 8 bytes to rank 1, which copies them in 2 ns and forwards them to rank 2:
///
///         // made by crossdock for generic_100g; times in nanoseconds, parameters as LogGOPSim takes them
///         // between nodes (messages: 2): -L 540 -o 180 -g 0 -G 0.475 -O 0 -S 8192
///         num_ranks 3
///         ...
///         rank 1 {
///         l1: recv 8b from 0 tag 0
///         l2: calc 2
///         l2 requires l1
///         l3: send 8b to 2 tag 0
///         l3 requires l2
///         }
///
/// Copying is a `calc` of whole units, before a send and after a receive; less than half a unit is left out. Items that
/// go through shared memory are written as messages. The comment has the machine's parameters for the messages of each
/// locality, of the eager protocol; the other simulator has one set of them for all messages.
/// @param layout  says how far messages go
/// @param m       the machine, which determines how long copying takes
/// @pre a peer is a rank of `layout`
/// @par Complexity
/// Time and memory linear in the schedule; the text of one rank is in memory at a time.
/// @par Source
/// \cite hoefler2010loggopsim, Sec. 3: GOAL's operations are sends, receives and computation, and `requires` is its
/// dependency on completion.
void write_goal(std::ostream& to, const rank_layout& layout, const schedule& s, const machine& m,
                goal_unit unit = goal_unit::nanosecond);

/// @brief The text that `write_goal` writes.
std::string to_goal(const rank_layout& layout, const schedule& s, const machine& m,
                    goal_unit unit = goal_unit::nanosecond);

}  // namespace crossdock
