/// @file
/// @brief Steps that bring arrived items from where they lie.
#pragma once

#include "access_request.hpp"
#include "input_copies.hpp"
#include "reference_resolver.hpp"
#include "task_steps.hpp"

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
    void pull(schedule_task& task, move_run arrived, bool combines);

    /// @brief Has a task wait for items in a buffer, and asks for them.
    void await(schedule_task& task, const item_reference& where, count_t length);

  private:
    count_t own_input(const item_reference& where) const;

    const exchange_layout& layout_;
    reference_resolver& where_;
    access_requests& requests_;
    const input_copies& inputs_;
};

}  // namespace crossdock
