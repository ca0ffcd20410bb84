/// @file
/// @brief Steps that bring arrived items from where they lie.
#pragma once

#include <limits>

#include "access_request.hpp"
#include "input_copies.hpp"
#include "reference_resolver.hpp"
#include "task_draft.hpp"

namespace crossdock {

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

}  // namespace crossdock
