/// @file
/// @brief How the ranks of a domain find out what each of them reads and writes in memory.
#pragma once

#include <map>
#include <vector>

#include "crossdock/base/word_message.hpp"
#include "crossdock/executor/shared_memory_schedule.hpp"

namespace crossdock {

/// @brief Values whose indices count up on both sides.
struct move_run {
    count_t from;
    count_t to;
    count_t length;
};

/// @brief Compiles one rank's shared-memory schedule together with the other ranks of its domain.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | stage t < num_stages() | `send_references(t)`, then `receive_references(t, …)` | stage t + 1 |
/// | after the last stage | `send_access_requests()`, then `receive_access_requests()` | requested |
/// | requested | `finish()` | finished |
///
/// In a stage, whoever would send a message inside the domain says in whose buffer, where, each of its
/// items lies. Items that only pass through are referred to where they really are. Then everybody
/// asks for what it will read, and for what it wants to be written where.
///
/// Peers of all messages are numbers in the domain.
class shared_memory_schedule_builder {
  public:
    /// @param domain          borrowed until `finish()`
    /// @param max_part_items  longer messages to other domains are cut; equal on all ranks
    /// @param stripes           as it was for `work`; borrowed until `finish()`
    shared_memory_schedule_builder(task_graph work, const memory_domain& domain,
                                   count_t max_part_items, const stripe_rule* stripes = nullptr);

    int num_stages() const noexcept { return work_.num_stages; }

    std::vector<word_message> send_references(int stage);
    /// @brief Who sends references to this rank in a stage, ascending.
    std::vector<int> reference_sources(int stage) const;
    void receive_references(int stage, const std::vector<word_message>& inbox);

    std::vector<word_message> send_access_requests();
    void receive_access_requests(const std::vector<word_message>& inbox);

    shared_memory_schedule finish();

  private:
    // Where an item lies.
    struct reference {
        int buffer = 0;
        int section = 0;
        bool is_input = false;  // a copy of an item of the buffer's rank, made if it is requested
        count_t slot = 0;
    };
    // Arrived items whose slots are consecutive, too.
    struct segment {
        count_t first = 0;
        count_t end = 0;
        reference at_first;

        bool holds(count_t arrived) const { return arrived >= first && arrived < end; }
        reference at(count_t arrived) const {
            reference result = at_first;
            result.slot += arrived - first;
            return result;
        }
    };
    struct slot_run {
        count_t first;
        count_t to;  // meaningless if only to be readable
        count_t length;
    };
    // A part, and the message that it is of.
    struct message_part {
        rank_t source;
        rank_t destination;
        count_t first;  // item of the message
        schedule_part part;
    };
    // A part that this rank's items are in.
    struct filled_part {
        message_part sent;
        int sender;  // in the domain
    };
    // What this rank wants of another.
    struct access_request {
        bool is_reader = false;
        std::map<int, std::vector<slot_run>> writes;  // by number in `filled_`
        std::vector<slot_run> copies;                 // to be made readable
        std::vector<message_part> sends;
        std::vector<message_part> receives;
    };

    count_t departing_slot(count_t departing) const { return work_.num_arrived + departing; }
    count_t part_items(const graph_message& message) const;
    template <class Use>
    void for_each_part(const graph_message& message, Use&& use) const;
    void lay_out_receives();
    void lay_out_sends();
    void order_parts();
    const segment& segment_of(count_t arrived);

    void refer(std::size_t message, word_message& to);
    void fill(std::size_t message);
    void add_part_task(std::size_t filled, schedule_task task);
    void make_output(graph_task& task);
    void copy_to_output(copy_list& list);
    std::vector<bool> combined_slots(const graph_task& task, const graph_message& message) const;
    // Of an outgoing message inside the domain.
    schedule_task& section_task(std::size_t message) {
        return section_tasks_[static_cast<std::size_t>(section_of_[message] -
                                                       first_message_section_)];
    }
    void copy_requested_inputs(std::size_t message);

    // Adds what brings arrived items from where they lie.
    void pull(schedule_task& task, move_run arrived, bool combines);
    void await(schedule_task& task, const reference& where);
    // The item's index if it is an own one that came back, or -1.
    count_t own_input(const reference& where) const;
    void request_write(std::size_t filled, const reference& where, count_t slot, count_t length);
    void request_sends();

    task_graph work_;
    const memory_domain& domain_;
    count_t max_part_items_;
    const stripe_rule* stripes_;
    message_finder finder_;
    shared_memory_schedule result_;
    std::vector<std::vector<segment>> segments_;  // by incoming message
    segment last_segment_;
    std::vector<message_part> receives_, sends_;  // that this rank carries
    std::vector<filled_part> filled_;
    std::vector<std::size_t> first_filled_of_;  // by outgoing message to another domain
    std::vector<int> section_of_;               // by outgoing message inside the domain
    int first_message_section_ = 0;
    std::vector<count_t> input_of_;   // by departing item that is a copy of an input, or -1
    std::vector<char> is_requested_;  // by departing item
    std::map<int, access_request> access_requests_;  // by buffer
    std::vector<schedule_task> part_tasks_, write_tasks_, section_tasks_, output_tasks_;
};

}  // namespace crossdock
