/// @file
/// @brief What one rank does in an exchange, of which some messages are read and written in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task_graph.hpp"

namespace crossdock {

/// @brief A section of an exchange buffer.
using section_number = strong_index<struct section_kind, int>;
/// @brief An arrival counter of an exchange buffer.
using counter_number = strong_index<struct counter_kind, int>;
/// @brief A slot of an exchange buffer.
using slot_number = strong_index<struct slot_kind, count_t>;
/// @brief A part that a rank sends: its place in `shared_memory_schedule::sends`.
using send_number = strong_index<struct send_kind, int>;
/// @brief A part that a rank receives: its place in `shared_memory_schedule::receives`.
using receive_number = strong_index<struct receive_kind, int>;

inline constexpr section_number no_section{-1};
inline constexpr counter_number no_counter{-1};

/// @brief A section of a buffer: the slots that become readable together.
struct section_reference {
    buffer_number buffer;
    section_number section;

    friend bool operator==(const section_reference&, const section_reference&) = default;
};

/// @brief What a task is for.
enum class task_purpose : std::uint8_t {
    output,        ///< fills a part of the output
    own_part,      ///< fills some or all of a part that this rank sends
    foreign_part,  ///< fills some or all of a part that another rank sends
    section,       ///< makes a section of this rank's buffer readable
};

/// @brief Where a task's values go, and what it tells the others when they are there.
class task_target {
  public:
    /// @brief The user's output.
    task_target() = default;

    static task_target own_part(buffer_number here, send_number part) {
        return {task_purpose::own_part, here, part.value(), no_buffer};
    }
    /// @param buffer   where the part lies
    /// @param counter  of that buffer
    /// @param sender   who sends the part, or `no_buffer` if that is the buffer's rank
    static task_target foreign_part(buffer_number buffer, counter_number counter,
                                    buffer_number sender) {
        return {task_purpose::foreign_part, buffer, counter.value(), sender};
    }
    static task_target section(buffer_number here, section_number number) {
        return {task_purpose::section, here, number.value(), no_buffer};
    }

    task_purpose purpose() const noexcept { return purpose_; }
    /// @brief `no_buffer` for the output.
    buffer_number buffer() const noexcept { return buffer_; }

    /// @pre the purpose is `own_part`
    send_number part() const noexcept { return send_number(number_); }
    /// @pre the purpose is `foreign_part`
    counter_number counter() const noexcept { return counter_number(number_); }
    /// @brief Who sends a foreign part, or `no_buffer` if that is the buffer's rank.
    buffer_number sender() const noexcept { return sender_; }
    /// @pre the purpose is `section`
    section_number section() const noexcept { return section_number(number_); }

  private:
    task_target(task_purpose purpose, buffer_number buffer, int number, buffer_number sender)
        : buffer_(buffer), number_(number), sender_(sender), purpose_(purpose) {}

    buffer_number buffer_ = no_buffer;
    int number_ = 0;  // of what the purpose says
    buffer_number sender_ = no_buffer;
    task_purpose purpose_ = task_purpose::output;
};

/// @brief Indices in an array: in constant steps, or as offsets to the first.
struct index_run {
    count_t first = 0;
    count_t step = 1;
    const std::int32_t* offsets = nullptr;

    index_piece piece(count_t size) const { return {first, step, offsets, size}; }
};

/// @brief Values that go from one array to one other: copied, or combined as a list says.
///
/// Indices are slots where a buffer takes the place of the user's array.
struct alignas(64) schedule_step {
    index_run from;
    index_run to;
    count_t size = 0;
    buffer_number from_buffer = no_buffer;
    /// An index into `shared_memory_schedule::lists`, or -1 for a copy. If it is one, the list's indices
    /// count from the first ones here, and nothing else is set.
    int combining = -1;
};
static_assert(sizeof(schedule_step) == 64);

/// @brief Steps that are done in their order once all awaited sections are readable.
struct schedule_task {
    [[no_unique_address]] task_target target;  // the next two use its padding
    bool is_foreign = false;                   ///< waits for other ranks of the domain
    bool sends_alone = false;  ///< fills a part of this rank that waits for nothing else
    int first_step = 0;
    int end_step = 0;
    int first_awaited = 0;
    int end_awaited = 0;
};
static_assert(sizeof(schedule_task) == 32);

/// @brief A message to or from a rank outside the domain, or a piece of a long one.
struct schedule_part {
    rank_t peer = 0;
    int stage = 0;
    count_t num_items = 0;
    bool is_in_place = false;
    /// The message is split over several ranks.
    bool is_stripe = false;
    /// In which it lies, unless it is in place.
    buffer_number buffer;
    /// Its first slot in the buffer, unless it is in place.
    slot_number slot;
    /// Its first index in the user's array, if it is in place.
    count_t array_index = 0;
    /// Of the buffer; of a part that is received and is not in place.
    section_number section = no_section;
    /// Of the buffer; counts the ranks that fill a part which is sent, unless its sender alone
    /// does.
    counter_number counter = no_counter;
    /// The ranks that fill a part which is sent.
    int num_contributors = 0;
    /// It may be sent once the part before it is: they match in order.
    bool is_after_previous = false;

    friend bool operator==(const schedule_part&, const schedule_part&) = default;
};

/// @brief What one rank does in an exchange: immutable data, without any reference to MPI.
///
/// The ranks of a domain share memory. Each has a *buffer*, which the others can read and write.
/// Its first slots hold the items that arrive, the others those that depart. Between ranks of a
/// domain nothing is sent:
///
/// - What one rank has and others need is in a *section* of its buffer: a part that came from
///   outside, or copies of its own items. Each reader reads it there, however many hops the plan
///   takes.
/// - What a rank's own items add to a part that another rank sends is written there at once. An
///   *arrival counter* counts who has done so.
///
/// A message between domains may be split into stripes. It then lies in the buffers of its own
/// source and destination. The ranks that carry a stripe send it from there, or receive it there.
///
///     2 domains of 2, three_step, rank 0's item a to ranks 2 and 3; rank 1 leads its region
///         rank 0   writes a into the part that rank 1 sends, and counts up its arrival counter
///         rank 1   sends it
///         rank 3   receives it into section 0 of its buffer; copies it to its slot
///         rank 2   awaits section 0 of rank 3's buffer; copies it to its slot
///
/// Tasks are ranges of flat arrays, in the order in which an exchange reads them. Where several ranks
/// share a core, an exchange finds the caches cold. Its time then depends on the number of cache lines
/// that it reads besides the items: one for each step, and half of one for each task.
///
///     tasks     0 | 1     task 0: copies a, b     task 1: awaits s, copies c
///     steps     a b | c
///     awaited   | s
struct shared_memory_schedule {
    shared_memory_schedule() = default;
    shared_memory_schedule(shared_memory_schedule&&) = default;  // no copy: steps refer to lists
    shared_memory_schedule& operator=(shared_memory_schedule&&) = default;

    std::span<const schedule_step> steps_of(const schedule_task& task) const {
        return {steps.data() + task.first_step, steps.data() + task.end_step};
    }
    std::span<const section_reference> awaited_by(const schedule_task& task) const {
        return {awaited.data() + task.first_awaited, awaited.data() + task.end_awaited};
    }

    int num_buffers = 1;
    buffer_number here;  ///< the own buffer
    int num_stages = 0;
    /// Those in sections first, in the order in which they match.
    index_vector<receive_number, schedule_part> receives;
    index_vector<send_number, schedule_part> sends;
    std::vector<schedule_task> tasks;
    std::vector<schedule_step> steps;
    std::vector<section_reference> awaited;
    std::vector<copy_list> lists;        ///< what steps combine, or have the offsets of
    bool combines = false;               ///< any step does
    std::vector<buffer_number> readers;  ///< others that use the items of the own buffer, ascending
    std::vector<buffer_number> owners;  ///< others of whose buffers this rank uses items, ascending
    int num_section_receives = 0;       ///< of `receives`, those in sections
    bool has_foreign_receivers = false;  ///< others receive into the own buffer
    int num_sections = 0;
    int num_received_sections = 0;  ///< the first of the sections: this rank receives them
    int num_counters = 0;
    count_t num_slots = 0;
};

}  // namespace crossdock
