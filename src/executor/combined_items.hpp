/// @file
/// @brief The items of a departing message that are combined of several values.
#pragma once

#include <vector>

#include "graph_indices.hpp"
#include "task_draft.hpp"

namespace crossdock {

/// @brief Which items of an outgoing message several values go to.
class combined_items {
  public:
    combined_items(const graph_task& fill, const graph_message& message)
        : first_(message.first_item) {
        if (!fill.combines()) return;
        is_combined_.resize(static_cast<std::size_t>(message.num_items));
        const auto note = [&](count_t, count_t to) {
            is_combined_[static_cast<std::size_t>(departing_item(to) - first_)] = true;
        };
        for_each_move(fill.combine_input, note);
        for_each_move(fill.combine_arrived, note);
    }

    bool empty() const noexcept { return is_combined_.empty(); }
    bool has(departing_item item) const {
        return !empty() && is_combined_[static_cast<std::size_t>(item - first_)];
    }

  private:
    departing_item first_;
    std::vector<bool> is_combined_;  // by item of the message, if any is
};

}  // namespace crossdock
