/// @file
/// @brief The tasks of a rank: they fill messages to other domains, messages inside the domain, and the output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "access_request.hpp"
#include "task_draft.hpp"

namespace crossdock {

/// @brief Of each departing item, whether it is a copy of an item of this rank, and of which.
///
/// Such a copy is made only if another rank requests it: this rank itself reads its own array.
class input_copies {
  public:
    /// @param num_departing  0 if no item departs inside the domain
    explicit input_copies(count_t num_departing)
        : inputs_(static_cast<std::size_t>(num_departing), -1),
          is_requested_(static_cast<std::size_t>(num_departing), 0) {}

    count_t size() const noexcept { return static_cast<count_t>(inputs_.size()); }

    void note(departing_item item, count_t input) { inputs_[item] = input; }
    void note_all(const copy_list& copies) {
        copies.for_each_piece([&](const index_piece& from, const index_piece& to) {
            from.with_lookup([&](auto input) {
                to.with_lookup([&](auto departing) {
                    for (count_t k = 0; k < to.size; ++k)
                        note(departing_item(departing(k)), input(k));
                });
            });
        });
    }
    /// @brief The index in this rank's array, or -1 if the item is no copy.
    count_t input_of(departing_item item) const { return inputs_[item]; }

    void request(departing_item first, count_t length) {
        std::fill_n(is_requested_.begin() + first.value(), length, char{1});
    }
    bool is_requested(departing_item item) const { return is_requested_[item] != 0; }
    bool are_all_requested(departing_item first, count_t length) const {
        const auto begin = is_requested_.begin() + first.value();
        return std::all_of(begin, begin + length, [](char is) { return is != 0; });
    }

  private:
    index_vector<departing_item, count_t> inputs_;
    index_vector<departing_item, char> is_requested_;
};

/// @brief Adds to tasks what reads arrived items, and requests access to them.
class item_reader {
  public:
    /// @param layout, where, requests, inputs  borrowed
    item_reader(const exchange_layout& layout, reference_resolver& where, access_requests& requests,
                const input_copies& inputs)
        : layout_(layout), where_(where), requests_(requests), inputs_(inputs) {}

    buffer_number here() const noexcept { return layout_.here(); }
    const located_run& locate(arrived_item item) { return where_.find(item); }

    /// @brief Adds steps that copy or combine arrived items.
    void pull(task_draft& task, move_run arrived, bool combines);

    /// @brief Adds one step that copies or combines a list of arrived items, if they lie in one buffer as
    /// far from each other as they do in the list. The step takes the list.
    /// @param to_offset     added to the indices that the list goes to
    /// @param max_sections  of how many sections the task may wait
    /// @return false, and nothing is changed, if they do not, or the list is empty
    bool pull_list(task_draft& task, copy_list& list, count_t to_offset, bool combines,
                   std::size_t max_sections = std::numeric_limits<std::size_t>::max());

    /// @brief Has a task wait for items in a buffer, and asks for them.
    void await(task_draft& task, const item_reference& where, count_t length);

  private:
    count_t own_input(const item_reference& where) const;

    const exchange_layout& layout_;
    reference_resolver& where_;
    access_requests& requests_;
    const input_copies& inputs_;
    std::vector<item_reference> found_;  // for `pull_list`
};

/// @brief Fills parts, or has the owners of items write them into the parts.
class part_filler {
  public:
    /// @brief A task that fills a part, or some of it.
    struct part_task {
        outgoing_part_number part;
        task_draft task;  // without its target
    };

    /// @param work, layout, reader, requests  borrowed
    part_filler(task_graph& work, exchange_layout& layout, item_reader& reader,
                access_requests& requests)
        : work_(work), layout_(layout), reader_(reader), requests_(requests) {}

    /// @brief Makes the tasks for a message; its lists may be taken.
    void fill(outgoing_number message);

    /// @brief The tasks of all messages; some have no steps.
    std::vector<part_task>& tasks() noexcept { return tasks_; }

  private:
    task_graph& work_;
    exchange_layout& layout_;
    item_reader& reader_;
    access_requests& requests_;
    std::vector<part_task> tasks_;
};

/// @brief Fills the messages inside the domain; their receivers read them.
///
/// The section of a message holds what is combined for it, and the copies of own items that others
/// have requested. Items that only pass through stay where they are.
class section_filler {
  public:
    /// @param work, layout, reader, inputs  borrowed
    section_filler(task_graph& work, const exchange_layout& layout, item_reader& reader,
                   input_copies& inputs)
        : work_(work),
          layout_(layout),
          reader_(reader),
          inputs_(inputs),
          tasks_(layout.has_message_sections() ? work.outgoing.size() : 0) {}

    /// @brief Appends references to all items of a message, for its receiver.
    void refer(outgoing_number message, std::vector<std::int64_t>& words);

    /// @brief In place of it where all of the message lies in its section, of which the receiver reads all.
    void place(outgoing_number message);

    /// @brief Adds the copies of own items that others have requested.
    void copy_requested_inputs();

    /// @brief The tasks of all messages, in their order; some have no steps.
    index_vector<outgoing_number, task_draft>& tasks() noexcept { return tasks_; }

  private:
    index_vector<message_item, item_reference> fill(outgoing_number message);
    void copy_requested_inputs(outgoing_number message);

    task_graph& work_;
    const exchange_layout& layout_;
    item_reader& reader_;
    input_copies& inputs_;
    index_vector<outgoing_number, task_draft> tasks_;
};

/// @brief Appends the tasks of one output; its lists may be taken.
///
/// What combines is one task, which keeps the order. What is only copied is a task for each section
/// that it reads, so that each can copy as soon as its section is readable.
void fill_output(std::vector<task_draft>& tasks, graph_task& output, item_reader& reader);

}  // namespace crossdock
