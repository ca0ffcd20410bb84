/// @file
/// @brief The steps of a task, while they are being found.
#pragma once

#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief Values whose indices count up on both sides.
struct move_run {
    count_t from;
    count_t to;
    count_t length;

    move_run first(count_t num) const noexcept { return {from, to, num}; }
    void drop_first(count_t num) noexcept {
        from += num;
        to += num;
        length -= num;
    }
};

/// @brief Calls `use(from, to)` for every pair of a list, in order.
template <class Use>
void for_each_move(const copy_list& list, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size(); ++k) use(from(k), to(k));
        });
    });
}

/// @brief Calls `use(run)` for every run of a list, in order; runs are as long as they can be.
template <class Use>
void for_each_move_run(const copy_list& list, Use&& use) {
    move_run whole{0, 0, 0};
    for_each_move(list, [&](count_t from, count_t to) {
        if (from == whole.from + whole.length && to == whole.to + whole.length) {
            ++whole.length;
            return;
        }
        if (whole.length > 0) use(whole);
        whole = {from, to, 1};
    });
    if (whole.length > 0) use(whole);
}

/// @brief The list of the step that copies or combines from a buffer; a new step if there is none.
///
/// Steps that combine keep their order, so only the last step can be continued. Copies go to slots
/// of their own, so any step that copies from the buffer can.
copy_list& list_for(schedule_task& task, buffer_number from_buffer, bool combines);

/// @brief Adds values to a task, in the step that `list_for` finds.
void add_copies(schedule_task& task, buffer_number from_buffer, bool combines,
                const move_run& what);

/// @brief Adds a step that copies by a whole list, unless the list is empty.
void add_list(schedule_task& task, buffer_number from_buffer, count_t from_offset,
              count_t to_offset, copy_list list);

}  // namespace crossdock
