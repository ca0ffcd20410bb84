/// @file
/// @brief Tasks that fill the parts of a rank's messages to other domains.
#pragma once

#include <vector>

#include "item_reader.hpp"

namespace crossdock {

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

}  // namespace crossdock
