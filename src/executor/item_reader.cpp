#include "item_reader.hpp"

#include <algorithm>

namespace crossdock {

// The index in this rank's own array, if the item is one of its own that came back, or -1.
count_t item_reader::own_input(const item_reference& where) const {
    if (where.buffer != here() || !where.is_input) return -1;
    return inputs_.input_of(layout_.departing_at(where.slot));
}

void item_reader::await(schedule_task& task, const item_reference& where, count_t length) {
    const section_reference section{where.buffer, where.section};
    if (std::find(task.awaited.rbegin(), task.awaited.rend(), section) == task.awaited.rend())
        task.awaited.push_back(section);
    if (where.buffer != here()) requests_.read(where.buffer);
    if (where.is_input) requests_.copy(where.buffer, where.slot, length);
}

void item_reader::pull(schedule_task& task, move_run what, bool combines) {
    while (what.length > 0) {
        const arrived_item first(what.from);
        const located_run& around = where_.find(first);
        const item_reference where = around.at(first);
        const count_t length = std::min(what.length, around.end - first);
        if (own_input(where) >= 0) {
            for (count_t k = 0; k < length; ++k) {
                add_copies(task, no_buffer, combines,
                           {own_input(around.at(first + k)), what.to + k, 1});
            }
        } else {
            await(task, where, length);
            add_copies(task, where.buffer, combines, {where.slot.value(), what.to, length});
        }
        what.drop_first(length);
    }
}

}  // namespace crossdock
