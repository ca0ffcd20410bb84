#include "section_filler.hpp"

#include <cstddef>
#include <utility>

#include "combined_items.hpp"
#include "schedule_wire.hpp"

namespace crossdock {

namespace {

// Appends references to the items of a message, as few runs as possible.
void encode_all(std::vector<std::int64_t>& words,
                const index_vector<message_item, item_reference>& where) {
    for (message_item k; k < where.end_index();) {
        const item_reference& first = where[k];
        message_item end = k + 1;
        for (item_reference next = first; end < where.end_index(); ++end) {
            ++next.slot;
            if (where[end] != next) break;
        }
        encode(words, {first, end - k});
        k = end;
    }
}

}  // namespace

void section_filler::refer(outgoing_number i, std::vector<std::int64_t>& words) {
    const auto& message = work_.outgoing[i.value()];
    const auto& lists = work_.fills[i.value()];
    const section_number section = layout_.section_of(i);
    tasks_[i].target = task_target::section(layout_.here(), section);
    if (lists.copy_input.size() < lists.num_copies()) return encode_all(words, fill(i));
    for_each_move(lists.copy_input, [&](count_t from, count_t departing) {
        inputs_.note(departing_item(departing), from);
    });
    const slot_number first = layout_.slot_of(departing_item(message.first_item));
    encode(words, {{layout_.here(), section, true, first}, message.num_items});
}

// Adds the steps that combine items of a message. Returns where each of its items lies.
index_vector<message_item, item_reference> section_filler::fill(outgoing_number i) {
    const auto& message = work_.outgoing[i.value()];
    const auto& lists = work_.fills[i.value()];
    auto& task = tasks_[i];
    const combined_items combined(lists, message);
    const departing_item first(message.first_item);
    const auto slot_of = [&](departing_item item) { return layout_.slot_of(item).value(); };

    index_vector<message_item, item_reference> where(static_cast<std::size_t>(message.num_items));
    for (message_item k; k < where.end_index(); ++k) {
        const departing_item item = first + k.value();
        where[k] = {layout_.here(), layout_.section_of(i), !combined.has(item),
                    layout_.slot_of(item)};
    }
    for_each_move(lists.copy_input, [&](count_t from, count_t to) {
        const departing_item item(to);
        if (combined.has(item)) {
            task.add(no_buffer, false, {from, slot_of(item), 1});
        } else {
            inputs_.note(item, from);
        }
    });
    for_each_move(lists.copy_arrived, [&](count_t from, count_t to) {
        const departing_item item(to);
        if (combined.has(item)) {
            reader_.pull(task, {from, slot_of(item), 1}, false);
        } else {
            const arrived_item arrived(from);
            where[message_item(item - first)] = reader_.locate(arrived).at(arrived);
        }
    });
    for_each_move(lists.combine_input, [&](count_t from, count_t to) {
        task.add(no_buffer, true, {from, slot_of(departing_item(to)), 1});
    });
    for_each_move(lists.combine_arrived, [&](count_t from, count_t to) {
        reader_.pull(task, {from, slot_of(departing_item(to)), 1}, true);
    });
    return where;
}

void section_filler::copy_requested_inputs() {
    for (outgoing_number i; i < tasks_.end_index(); ++i) {
        const auto& message = work_.outgoing[i.value()];
        if (message.is_shared && message.num_items > 0) copy_requested_inputs(i);
    }
}

void section_filler::copy_requested_inputs(outgoing_number i) {
    const auto& message = work_.outgoing[i.value()];
    auto& list = work_.fills[i.value()].copy_input;
    const departing_item first(message.first_item);
    step_draft copies;
    if (list.size() == message.num_items && inputs_.are_all_requested(first, message.num_items)) {
        copies.to_offset = layout_.slot_of(departing_item()).value();
        copies.list = std::move(list);
    } else {
        for_each_move(list, [&](count_t input, count_t departing) {
            const departing_item item(departing);
            if (inputs_.is_requested(item))
                copies.list.append(input, layout_.slot_of(item).value());
        });
    }
    auto& steps = tasks_[i].steps;
    if (copies.list.size() > 0) steps.insert(steps.begin(), std::move(copies));
}

}  // namespace crossdock
