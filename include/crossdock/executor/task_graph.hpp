/// @file
/// @brief A plan turned into messages, what fills them, and what they are for.
#pragma once

#include <vector>

#include "crossdock/executor/lane_rule.hpp"
#include "crossdock/executor/memory_domain.hpp"
#include "crossdock/executor/moves.hpp"
#include "crossdock/plan/plan.hpp"

namespace crossdock {

/// @brief A message and its place among the arrived or the departing items.
struct flow_message {
    rank_t peer = 0;
    int stage = 0;  ///< counts up in the direction of the flow
    count_t first_item = 0;
    count_t num_items = 0;
    /// Where the message lies in the user's own array, if it can be sent from or received there.
    count_t in_place_index = -1;
    /// The peer shares memory: nothing is sent.
    bool is_shared = false;
    int num_lanes = 1;

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

    bool combines() const noexcept { return combine_input.size() + combine_arrived.size() > 0; }
    count_t num_moves() const noexcept {
        return copy_input.size() + copy_arrived.size() + combine_input.size() +
               combine_arrived.size();
    }
};

/// @brief One direction of a plan as a graph of messages and tasks.
///
///     input --tasks--> departing ==messages==> arrived --tasks--> departing or output
///
/// `fills[i]` fills outgoing message i. `outputs` fill the output; those that combine do so in their
/// order.
struct flow {
    std::vector<flow_message> incoming;  ///< by stage, and by first item
    std::vector<flow_message> outgoing;  ///< by stage, and by first item
    std::vector<flow_task> fills;
    std::vector<flow_task> outputs;
    int num_stages = 0;
    count_t num_arrived = 0;    ///< items of all incoming messages
    count_t num_departing = 0;  ///< items of all outgoing messages
};

/// @brief Items to slots: input is the local array, output the slots.
/// @param domain  the ranks that share memory with the plan's
/// @param lanes   null if no message is split; it is used in this call only
/// @par Complexity
/// Linear in the plan, but for a binary search per item that is forwarded.
flow forward_flow(const plan& p, const memory_domain& domain, const lane_rule* lanes = nullptr);

/// @brief Slots to items: every message travels back, and what was sent to several destinations
/// comes back combined. Input is the slots, output the local array, which is combined into.
/// @par Complexity
/// As `forward_flow`.
flow reverse_flow(const plan& p, const memory_domain& domain, const lane_rule* lanes = nullptr);

/// @brief The incoming message that an arrived item is in; remembers the last answer.
class message_finder {
  public:
    explicit message_finder(const std::vector<flow_message>& incoming) : incoming_(incoming) {}

    std::size_t message_of(count_t arrived);

  private:
    const std::vector<flow_message>& incoming_;
    std::size_t last_ = 0;
};

}  // namespace crossdock
