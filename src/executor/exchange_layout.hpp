/// @file
/// @brief Where everything lies in one rank's exchange buffer.
#pragma once

#include <vector>

#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief A part, and the message that it is of.
struct message_part {
    rank_t source = 0;
    rank_t destination = 0;
    count_t first_item = 0;  ///< of the message
    schedule_part part;

    friend bool operator==(const message_part&, const message_part&) = default;
};

/// @brief A part of a message to this rank.
struct incoming_part {
    incoming_number message;
    buffer_number receiver;  ///< this rank, or who receives the stripe for it
    message_part received;
};

/// @brief A part of a message from this rank to another domain.
struct outgoing_part {
    buffer_number sender;  ///< this rank, or who sends the stripe for it
    message_part sent;
};

/// @brief A part of a message from this rank: its place in `exchange_layout::outgoing()`.
using outgoing_part_number = strong_index<struct outgoing_part_kind, std::size_t>;

/// @brief The slots, sections, parts and arrival counters of one rank's exchange buffer.
///
///     slots      arrived items, then departing items
///     sections   parts that this rank receives, parts that others receive for it, then one section
///                for each outgoing message inside the domain
///     counters   one for each part that another rank sends or fills too
class exchange_layout {
  public:
    /// @param work            borrowed; only its messages are looked at
    /// @param domain          borrowed in this call only, as is `stripes`
    /// @param max_part_items  longer messages to other domains are cut
    exchange_layout(const task_graph& work, const memory_domain& domain, count_t max_part_items,
                    const stripe_rule* stripes);

    buffer_number here() const noexcept { return here_; }

    slot_number slot_of(arrived_item item) const { return slot_number(item.value()); }
    slot_number slot_of(departing_item item) const {
        return slot_number(work_.num_arrived + item.value());
    }
    departing_item departing_at(slot_number slot) const {
        return departing_item(slot.value() - work_.num_arrived);
    }
    count_t num_slots() const noexcept { return work_.num_arrived + work_.num_departing; }

    int num_sections() const noexcept { return num_sections_; }
    int num_received_sections() const noexcept { return num_received_sections_; }
    /// @brief Of a message inside the domain.
    section_number section_of(outgoing_number message) const { return section_of_[message]; }
    bool has_message_sections() const noexcept { return has_message_sections_; }

    /// @brief Parts of messages from other domains, in the order of the messages and their items.
    const std::vector<incoming_part>& incoming() const noexcept { return incoming_; }

    /// @brief Items of each part of a message but the last.
    count_t items_per_part(const graph_message& message) const;
    const index_vector<outgoing_part_number, outgoing_part>& outgoing() const noexcept {
        return outgoing_;
    }
    /// @brief Of a message to another domain.
    outgoing_part_number first_part_of(outgoing_number message) const {
        return first_part_of_[message];
    }

    /// @brief Notes one more rank that fills a part.
    void add_contributor(outgoing_part_number part) {
        ++outgoing_[part].sent.part.num_contributors;
    }
    /// @brief The part's arrival counter; makes one if it has none.
    counter_number counter_of(outgoing_part_number part);
    int num_counters() const noexcept { return num_counters_; }

  private:
    template <class Use>
    void for_each_part(const graph_message& message, Use&& use) const;
    void lay_out_incoming(const memory_domain& domain, const stripe_rule* stripes);
    void lay_out_outgoing(const memory_domain& domain, const stripe_rule* stripes);

    const task_graph& work_;
    buffer_number here_;
    rank_t rank_;
    count_t max_part_items_;
    std::vector<incoming_part> incoming_;
    index_vector<outgoing_part_number, outgoing_part> outgoing_;
    index_vector<outgoing_number, outgoing_part_number> first_part_of_;
    index_vector<outgoing_number, section_number> section_of_;
    bool has_message_sections_ = false;
    int num_sections_ = 0;
    int num_received_sections_ = 0;
    int num_counters_ = 0;
};

}  // namespace crossdock
