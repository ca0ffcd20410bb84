/// @file
/// @brief What one rank does in an exchange, of which some messages are read and written in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/executor/task_graph.hpp"

namespace crossdock {

/// @brief Stands for the user's arrays, where otherwise a buffer's number stands.
inline constexpr int no_buffer = -1;

/// @brief Values that go from one array to one other.
///
/// The list's indices are in the user's array, or slots of a buffer once the offset is added.
struct copy_step {
    int from_buffer = no_buffer;
    count_t from_offset = 0;
    count_t to_offset = 0;
    bool combines = false;
    copy_list list;
};

/// @brief A section of a buffer: the slots that become readable together.
struct section_reference {
    int buffer = 0;
    int section = 0;

    friend bool operator==(const section_reference&, const section_reference&) = default;
};

/// @brief What a task is for.
enum class task_purpose : std::uint8_t {
    output,        ///< fills a part of the output
    own_part,      ///< fills some or all of a part that this rank sends
    foreign_part,  ///< fills some or all of a part that another rank sends
    section,       ///< makes a section of this rank's buffer readable
};

/// @brief Steps that are done in their order once all awaited sections are readable.
struct schedule_task {
    task_purpose purpose = task_purpose::output;
    int to_buffer = no_buffer;
    int number = 0;   ///< of the part, of the arrival counter in the buffer, or of the section
    int sender = -1;  ///< of a foreign part, if it is not the buffer's rank
    std::vector<copy_step> steps;
    std::vector<section_reference> awaited;
};

/// @brief A message to or from a rank outside the domain, or a piece of a long one.
struct schedule_part {
    rank_t peer = 0;
    int stage = 0;
    count_t num_items = 0;
    bool is_in_place = false;
    bool is_stripe = false;  ///< of a message that is split over several ranks
    int buffer = 0;          ///< whose it is
    count_t index = 0;       ///< in the user's array if `is_in_place`, else a slot of the buffer
    int section = -1;        ///< of one that is received and is not in place: in the buffer
    int counter =
        -1;  ///< of one that is sent: counts those who fill it, unless the sender alone does
    int num_contributors = 0;  ///< of one that is sent: ranks that fill it
    bool is_after_previous =
        false;  ///< may be sent once the part before it is: they match in order
};

/// @brief What one rank does in an exchange: immutable data, without any reference to MPI.
///
/// The ranks of a domain share memory. Each has a *buffer*, which the others can read and write; its
/// slots are the items that arrive, then those that depart. Between ranks of a domain nothing is
/// sent:
///
/// - what one rank has and others need is in a *section* of its buffer: a part that came from outside,
///   or copies of its own items. Who needs it reads it there, however many hops the plan takes.
/// - what a rank's own items add to a part that another rank sends is written there at once. A
///   *arrival counter* counts who has done so.
///
/// A message between domains that is split into stripes lies in the buffers of its own ranks. The ranks
/// that carry a stripe send from there, or receive there.
///
///     2 domains of 2, three_step, rank 0's item a to ranks 2 and 3, whose region rank 1 speaks with
///         rank 0   writes a into the part that rank 1 sends, and counts up its arrival counter
///         rank 1   sends it
///         rank 3   receives it into section 0 of its buffer; copies it to its slot
///         rank 2   awaits section 0 of rank 3's buffer; copies it to its slot
struct shared_memory_schedule {
    int num_buffers = 1;
    int here = 0;  ///< number of the own buffer
    int num_stages = 0;
    std::vector<schedule_part>
        receives;  ///< those in sections first, in the order in which they match
    std::vector<schedule_part> sends;
    std::vector<schedule_task> tasks;
    std::vector<int> readers;  ///< others that use the items of the own buffer, ascending
    std::vector<int> owners;   ///< others of whose buffers this rank uses items, ascending
    std::size_t num_section_receives = 0;
    bool has_foreign_receivers = false;  ///< others receive into the own buffer
    int num_sections = 0;
    int num_received_sections = 0;  ///< the first of the sections: this rank receives them
    int num_counters = 0;
    count_t num_slots = 0;
};

}  // namespace crossdock
