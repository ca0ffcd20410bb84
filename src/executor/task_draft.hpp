/// @file
/// @brief A task, while its steps are being found.
#pragma once

#include <vector>

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

/// @brief Values that a task copies or combines from one array.
///
/// The list's indices are in the user's array. Where a buffer takes that array's place, they are
/// slots of the buffer once the offset is added.
struct step_draft {
    buffer_number from_buffer = no_buffer;
    bool combines = false;
    count_t from_offset = 0;
    count_t to_offset = 0;
    copy_list list = {};
};

/// @brief What a task does and awaits, before it has its place in a schedule.
struct task_draft {
    task_target target = {};
    std::vector<step_draft> steps = {};
    std::vector<section_reference> awaited = {};

    /// @brief Adds values to a step from a buffer; to a new one if there is none.
    ///
    /// Steps that combine keep their order, so only the last step can be continued. Copies go to slots
    /// of their own, so any step that copies from the buffer can.
    void add(buffer_number from_buffer, bool combines, const move_run& what);
    /// @brief Adds a step with a whole list, unless that is empty.
    void add(step_draft step);

    /// @brief Makes it the last task of a schedule whose parts, sections and readers are known; one without
    /// steps is none.
    void append_to(shared_memory_schedule& work) &&;
};

}  // namespace crossdock
