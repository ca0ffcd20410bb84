/// @file
/// @brief A plan as a graph of messages, and of the tasks that fill them and use them.
#pragma once

#include <vector>

#include "../topology/memory_domain.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/plan.hpp"
#include "stripe_rule.hpp"

namespace crossdock {

/// @brief A message, and its items among all arrived or departing items.
struct graph_message {
    rank_t peer = 0;
    int stage = 0;  ///< ascending in the direction of the graph
    count_t first_item = 0;
    count_t num_items = 0;
    /// Where the message lies in the user's own array, if it can be sent from or received there.
    count_t in_place_index = -1;
    /// The peer shares memory: nothing is sent.
    bool is_shared = false;
    int num_stripes = 1;

    bool is_in_place() const noexcept { return in_place_index >= 0; }
};

/// @brief Fills one departing message or a part of the output, once the items that it reads have
/// arrived.
///
/// The four lists are done in this order. Where several values go to one slot, the first is copied
/// and the others are combined into it.
struct graph_task {
    copy_list copy_input;
    copy_list copy_arrived;
    copy_list combine_input;
    copy_list combine_arrived;

    bool combines() const noexcept { return combine_input.size() + combine_arrived.size() > 0; }
    count_t num_copies() const noexcept {
        return copy_input.size() + copy_arrived.size() + combine_input.size() +
               combine_arrived.size();
    }
};

/// @brief One direction of a plan as a graph of messages and tasks.
///
///     input --tasks--> departing ==messages==> arrived --tasks--> departing or output
///
/// `fills[i]` fills outgoing message i. `outputs` fill the output; those that combine run in their
/// order.
struct task_graph {
    std::vector<graph_message> incoming;  ///< by stage, and by first item
    std::vector<graph_message> outgoing;  ///< by stage, and by first item
    std::vector<graph_task> fills;
    std::vector<graph_task> outputs;
    int num_stages = 0;
    count_t num_arrived = 0;    ///< items of all incoming messages
    count_t num_departing = 0;  ///< items of all outgoing messages
};

/// @brief Items to slots: input is the local array, output the slots.
/// @param domain  the ranks that share memory with the plan's
/// @param stripes  null if no message is split; it is used in this call only
/// @par Complexity
/// Linear in the plan, and a binary search for each item that is forwarded.
task_graph forward_task_graph(const plan& p, const memory_domain& domain,
                              const stripe_rule* stripes = nullptr);

/// @brief Slots to items: every message travels back, and what was sent to several destinations
/// comes back combined. Input is the slots, output the local array, which is combined into.
/// @par Complexity
/// As `forward_task_graph`.
task_graph reverse_task_graph(const plan& p, const memory_domain& domain,
                              const stripe_rule* stripes = nullptr);

/// @brief Finds the incoming message that an arrived item is in. It remembers the last answer.
class message_finder {
  public:
    explicit message_finder(const std::vector<graph_message>& incoming) : incoming_(incoming) {}

    std::size_t message_of(count_t arrived);

  private:
    const std::vector<graph_message>& incoming_;
    std::size_t last_ = 0;
};

}  // namespace crossdock
