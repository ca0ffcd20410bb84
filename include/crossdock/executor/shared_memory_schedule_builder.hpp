/// @file
/// @brief How the ranks of a domain find out what each of them reads and writes in memory.
#pragma once

#include <map>
#include <vector>

#include "crossdock/base/word_message.hpp"
#include "crossdock/executor/circuit.hpp"

namespace crossdock {

/// @brief Values whose indices count up on both sides.
struct move_run {
    count_t from;
    count_t to;
    count_t length;
};

/// @brief Compiles one rank's circuit together with the other ranks of its domain.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | stage t < num_stages() | `send_references(t)`, then `receive_references(t, …)` | stage t + 1 |
/// | after the last stage | `send_claims()`, then `receive_claims()` | claimed |
/// | claimed | `finish()` | finished |
///
/// In a stage, whoever would send a message inside the domain says in whose block, where, each of its
/// items lies. Items that only pass through are referred to where they really are. Then everybody
/// claims what it will read, and what it wants to be written where.
///
/// Peers of all messages are numbers in the domain.
class circuit_compiler {
  public:
    /// @param domain          borrowed until `finish()`
    /// @param max_part_items  longer messages to other domains are cut; equal on all ranks
    /// @param lanes           as it was for `work`; borrowed until `finish()`
    circuit_compiler(flow work, const memory_domain& domain, count_t max_part_items,
                     const lane_rule* lanes = nullptr);

    int num_stages() const noexcept { return work_.num_stages; }

    std::vector<word_message> send_references(int stage);
    /// @brief Who sends references to this rank in a stage, ascending.
    std::vector<int> reference_sources(int stage) const;
    void receive_references(int stage, const std::vector<word_message>& inbox);

    std::vector<word_message> send_claims();
    void receive_claims(const std::vector<word_message>& inbox);

    circuit finish();

  private:
    // Where an item lies.
    struct reference {
        int block = 0;
        int section = 0;
        bool is_input = false;  // a copy of an item of the block's rank, made if it is claimed
        count_t place = 0;
    };
    // Arrived items whose places are consecutive, too.
    struct segment {
        count_t first = 0;
        count_t end = 0;
        reference at_first;

        bool holds(count_t arrived) const { return arrived >= first && arrived < end; }
        reference at(count_t arrived) const {
            reference result = at_first;
            result.place += arrived - first;
            return result;
        }
    };
    struct place_run {
        count_t first;
        count_t to;  // meaningless if only to be readable
        count_t length;
    };
    // A part, and the message that it is of.
    struct message_part {
        rank_t source;
        rank_t destination;
        count_t first;  // item of the message
        circuit_part part;
    };
    // A part that this rank's items are in.
    struct filled_part {
        message_part sent;
        int sender;  // in the domain
    };
    // What this rank wants of another.
    struct claim {
        bool is_reader = false;
        std::map<int, std::vector<place_run>> writes;  // by number in `filled_`
        std::vector<place_run> copies;                 // to be made readable
        std::vector<message_part> sends;
        std::vector<message_part> receives;
    };

    count_t departing_place(count_t departing) const { return work_.num_arrived + departing; }
    count_t part_items(const flow_message& message) const;
    template <class Use>
    void for_each_part(const flow_message& message, Use&& use) const;
    void lay_out_receives();
    void lay_out_sends();
    void order_parts();
    const segment& segment_of(count_t arrived);

    void refer(std::size_t message, word_message& to);
    void fill(std::size_t message);
    void add_part_task(std::size_t filled, circuit_task task);
    void make_output(flow_task& task);
    void copy_to_output(moves& list);
    std::vector<bool> combined_places(const flow_task& task, const flow_message& message) const;
    // Of an outgoing message inside the domain.
    circuit_task& section_task(std::size_t message) {
        return section_tasks_[static_cast<std::size_t>(section_of_[message] -
                                                       first_message_section_)];
    }
    void copy_claimed_inputs(std::size_t message);

    // Adds what brings arrived items from where they lie.
    void pull(circuit_task& task, move_run arrived, bool combines);
    void await(circuit_task& task, const reference& where);
    // The item's index if it is an own one that came back, or -1.
    count_t own_input(const reference& where) const;
    void claim_write(std::size_t filled, const reference& where, count_t place, count_t length);
    void claim_sends();

    flow work_;
    const memory_domain& domain_;
    count_t max_part_items_;
    const lane_rule* lanes_;
    message_finder finder_;
    circuit result_;
    std::vector<std::vector<segment>> segments_;  // by incoming message
    segment last_segment_;
    std::vector<message_part> receives_, sends_;  // that this rank carries
    std::vector<filled_part> filled_;
    std::vector<std::size_t> first_filled_of_;  // by outgoing message to another domain
    std::vector<int> section_of_;               // by outgoing message inside the domain
    int first_message_section_ = 0;
    std::vector<count_t> input_of_;  // by departing item that is a copy of an input, or -1
    std::vector<char> is_claimed_;   // by departing item
    std::map<int, claim> claims_;    // by block
    std::vector<circuit_task> part_tasks_, write_tasks_, section_tasks_, output_tasks_;
};

}  // namespace crossdock
