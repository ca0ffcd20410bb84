/// @file
/// @brief A plan as a graph of messages, and of the tasks that fill them and use them.
#pragma once

#include <utility>
#include <vector>

#include "../topology/memory_domain.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/plan.hpp"

namespace crossdock {

/// @brief A message in `task_graph::incoming`.
using incoming_number = strong_index<struct incoming_kind, std::size_t>;
/// @brief A message in `task_graph::outgoing`.
using outgoing_number = strong_index<struct outgoing_kind, std::size_t>;
/// @brief An item of the incoming messages, counted over all of them.
using arrived_item = strong_index<struct arrived_kind, count_t>;
/// @brief An item of the outgoing messages, counted over all of them.
using departing_item = strong_index<struct departing_kind, count_t>;
/// @brief An item of one message, counted in it.
using message_item = strong_index<struct message_item_kind, count_t>;

/// @brief Which long messages are split into stripes, and who carries each of them.
///
/// Stripe 0 is sent by the message's source and received by its destination. Stripe k is sent and
/// received by the k-th ranks after these in their domains; after the last rank comes the first.
///
///     domains "2x4", a message from 1 to 6 in 3 stripes    1 -> 6, 2 -> 7, 3 -> 4
struct stripe_rule {
    stripe_rule(topology d, count_t items) : domains(std::move(d)), items_per_stripe(items) {}

    topology domains;          ///< the regions are the ranks that share memory
    count_t items_per_stripe;  ///< at least 1

    /// @brief The stripes of a message: at most one for each rank of the smaller domain; 1 if it is
    /// not split.
    int num_stripes(rank_t source, rank_t destination, count_t num_items) const;
    rank_t sender(rank_t source, int stripe) const { return neighbor_of(source, stripe); }
    rank_t receiver(rank_t destination, int stripe) const {
        return neighbor_of(destination, stripe);
    }

  private:
    rank_t neighbor_of(rank_t rank, int slots) const;
};

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
/// comes back combined. Input is the slots, output the local array, which is combined into: where the plan has
/// destinations of items, in their order.
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
