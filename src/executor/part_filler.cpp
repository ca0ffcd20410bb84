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
    std::vector<schedule_task> tasks(
        static_cast<std::size_t>((message.num_items + items_per_part - 1) / items_per_part));
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

    const bool is_one_copy = tasks.size() == 1 && combined.empty();
    if (is_one_copy) {
        add_list(tasks[0], no_buffer, 0, slot_of(0).value(), std::move(from.copy_input));
    } else {
        for_each_piece(from.copy_input, [&](std::size_t part, const move_run& what) {
            add_copies(tasks[part], no_buffer, false, in_buffer(what));
        });
    }
    if (is_one_copy &&
        reader_.pull_list(tasks[0], from.copy_arrived, slot_of(0).value(), work_.incoming.size())) {
        from.copy_arrived = {};
    }
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
                reader_.pull(tasks[part], in_buffer(what.first(length)), false);
            }
            what.drop_first(length);
        }
    });
    for_each_piece(from.combine_input, [&](std::size_t part, const move_run& what) {
        add_copies(tasks[part], no_buffer, true, in_buffer(what));
    });
    for_each_piece(from.combine_arrived, [&](std::size_t part, const move_run& what) {
        reader_.pull(tasks[part], in_buffer(what), true);
    });

    for (std::size_t p = 0; p < tasks.size(); ++p) {
        if (tasks[p].steps.empty()) continue;
        layout_.add_contributor(first_part + p);
        tasks_.push_back({first_part + p, std::move(tasks[p])});
    }
}

}  // namespace crossdock
