#include "part_filler.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "combined_items.hpp"

namespace crossdock {

void part_filler::fill(outgoing_number i) {
    const auto& message = work_.outgoing[i.value()];
    auto& from = work_.fills[i.value()];
    const count_t items_per_part = layout_.items_per_part(message);
    const outgoing_part_number first_part = layout_.first_part_of(i);
    const auto num_parts =
        static_cast<std::size_t>((message.num_items + items_per_part - 1) / items_per_part);
    tasks_.reserve(layout_.outgoing().size());
    for (std::size_t p = 0; p < num_parts; ++p) tasks_.push_back({first_part + p, {}});
    const auto task_of = [&](std::size_t part) -> task_draft& {
        return tasks_[tasks_.size() - num_parts + part].task;
    };
    const combined_items combined(from, message);
    const auto slot_of = [&](count_t departing) {
        return layout_.slot_of(departing_item(departing));
    };
    const auto in_buffer = [&](const move_run& what) {
        return move_run{what.from, slot_of(what.to).value(), what.length};
    };
    // Whether the owner of an item can write it: others write only own items that are not combined.
    const auto can_owner_write = [&](const item_reference& where, count_t departing) {
        return where.is_input && where.buffer != layout_.here() &&
               !combined.has(departing_item(departing));
    };
    // Calls `use(part, run)` with the runs of a list, cut where parts end.
    const auto for_each_piece = [&](const copy_list& list, auto&& use) {
        for_each_move_run(list, [&](move_run what) {
            while (what.length > 0) {
                const count_t part = (what.to - message.first_item) / items_per_part;
                const count_t end = message.first_item + (part + 1) * items_per_part;
                const count_t length = std::min(what.length, end - what.to);
                use(static_cast<std::size_t>(part), what.first(length));
                what.drop_first(length);
            }
        });
    };

    // A message of one part takes lists as they are.
    const auto use_input = [&](copy_list& list, bool combines) {
        if (num_parts == 1)
            return task_of(0).add({no_buffer, combines, 0, slot_of(0).value(), std::move(list)});
        for_each_piece(list, [&](std::size_t part, const move_run& what) {
            task_of(part).add(no_buffer, combines, in_buffer(what));
        });
    };
    const auto use_arrived = [&](copy_list& list, bool combines) {
        if (num_parts == 1 && reader_.pull_list(task_of(0), list, slot_of(0).value(), combines))
            list = {};
    };
    use_input(from.copy_input, false);
    use_arrived(from.copy_arrived, false);
    for_each_piece(from.copy_arrived, [&](std::size_t part, move_run what) {
        while (what.length > 0) {
            const arrived_item first(what.from);
            const located_run& around = reader_.locate(first);
            const item_reference where = around.at(first);
            // Which values are combined may change from one to the next.
            const count_t length = combined.empty() ? std::min(what.length, around.end - first) : 1;
            if (can_owner_write(where, what.to)) {
                requests_.write(where.buffer, first_part + part,
                                {where.slot, slot_of(what.to), length});
            } else {
                reader_.pull(task_of(part), in_buffer(what.first(length)), false);
            }
            what.drop_first(length);
        }
    });
    use_input(from.combine_input, true);
    use_arrived(from.combine_arrived, true);
    for_each_piece(from.combine_arrived, [&](std::size_t part, const move_run& what) {
        reader_.pull(task_of(part), in_buffer(what), true);
    });

    for (std::size_t p = 0; p < num_parts; ++p) {
        if (!task_of(p).steps.empty()) layout_.add_contributor(first_part + p);
    }
}

}  // namespace crossdock
