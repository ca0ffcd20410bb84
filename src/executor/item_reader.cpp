#include "item_reader.hpp"

#include <algorithm>

namespace crossdock {

// The index in this rank's own array, if the item is one of its own that came back, or -1.
count_t item_reader::own_input(const item_reference& where) const {
    if (where.buffer != here() || !where.is_input) return -1;
    return inputs_.input_of(layout_.departing_at(where.slot));
}

void item_reader::await(task_draft& task, const item_reference& where, count_t length) {
    const section_reference section{where.buffer, where.section};
    if (std::find(task.awaited.rbegin(), task.awaited.rend(), section) == task.awaited.rend())
        task.awaited.push_back(section);
    if (where.buffer != here()) requests_.read(where.buffer);
    if (where.is_input) requests_.copy(where.buffer, where.slot, length);
}

void item_reader::pull(task_draft& task, move_run what, bool combines) {
    while (what.length > 0) {
        const arrived_item first(what.from);
        const located_run& around = where_.find(first);
        const item_reference where = around.at(first);
        const count_t length = std::min(what.length, around.end - first);
        if (own_input(where) >= 0) {
            for (count_t k = 0; k < length; ++k) {
                task.add(no_buffer, combines, {own_input(around.at(first + k)), what.to + k, 1});
            }
        } else {
            await(task, where, length);
            task.add(where.buffer, combines, {where.slot.value(), what.to, length});
        }
        what.drop_first(length);
    }
}

bool item_reader::pull_list(task_draft& task, copy_list& list, count_t to_offset, bool combines,
                            std::size_t max_sections) {
    auto& found = found_;  // an item of each section
    found.clear();
    bool is_shifted = true;
    count_t shift = 0;
    located_run around;
    list.from.with_lookup([&](auto index) {
        for (count_t k = 0; k < list.size() && is_shifted; ++k) {
            const arrived_item item(index(k));
            if (around.holds(item)) continue;
            around = where_.find(item);
            const item_reference where = around.at(item);
            if (found.empty()) shift = where.slot.value() - item.value();
            if (std::find_if(found.rbegin(), found.rend(), [&](const auto& other) {
                    return other.section == where.section;
                }) == found.rend()) {
                found.push_back(where);
            }
            is_shifted = !where.is_input && where.buffer == found.front().buffer &&
                         where.slot.value() - item.value() == shift && found.size() <= max_sections;
        }
    });
    if (!is_shifted || found.empty()) return false;
    for (const auto& where : found) await(task, where, 0);
    task.add({found.front().buffer, combines, shift, to_offset, std::move(list)});
    return true;
}

}  // namespace crossdock
