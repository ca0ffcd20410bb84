/// @file
/// @brief Tasks that fill the messages of a rank to others of its domain.
#pragma once

#include <cstdint>
#include <vector>

#include "item_reader.hpp"

namespace crossdock {

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

}  // namespace crossdock
