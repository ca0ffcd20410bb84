/// @file
/// @brief A plan turned into what an executor runs: messages, what fills them, and what that waits
/// for.
#pragma once

#include <vector>

#include "crossdock/executor/moves.hpp"
#include "crossdock/plan/plan.hpp"

namespace crossdock {

/// @brief A message and its place among the arrived or the departing items.
struct flow_message {
    rank_t peer = 0;
    int stage = 0;
    count_t first_item = 0;
    count_t num_items = 0;
    /// Where the message lies in the user's own array, if it can be sent from or received there.
    count_t in_place_index = -1;

    bool is_in_place() const noexcept { return in_place_index >= 0; }
};

/// @brief Fills one departing message or a part of the output, once what it reads has arrived.
///
/// The four lists are done in this order; a place that several values go to is first copied to and
/// then combined into.
struct flow_task {
    moves copy_input;
    moves copy_arrived;
    moves combine_input;
    moves combine_arrived;
    int num_dependencies = 0;  ///< incoming messages
};

/// @brief One direction of a plan as a graph of messages and tasks.
///
///     input --tasks--> departing ==messages==> arrived --tasks--> departing or output
///
/// `fills[i]` fills outgoing message i. The incoming messages that a fill waits for come first:
/// there are `num_feeding` of them, and `successors[m]` are the fills that wait for the m-th.
struct flow {
    std::vector<flow_message> incoming;
    std::vector<flow_message> outgoing;
    std::vector<flow_task> fills;
    std::vector<flow_task> early_outputs;  ///< to the output, from the input alone
    std::vector<flow_task>
        late_outputs;  ///< to the output, once everything has arrived; in this order
    std::vector<std::vector<int>> successors;
    std::size_t num_feeding = 0;
    count_t num_arrived = 0;    ///< items of all incoming messages
    count_t num_departing = 0;  ///< items of all outgoing messages
};

/// @brief Items to slots: input is the local array, output the slots.
/// @par Complexity
/// Linear in the plan, but for a binary search per item that is forwarded.
flow forward_flow(const plan& p);

/// @brief Slots to items: every message travels back, and what was sent to several destinations
/// comes back combined. Input is the slots, output the local array, which is combined into.
/// @par Complexity
/// As `forward_flow`.
flow reverse_flow(const plan& p);

}  // namespace crossdock
