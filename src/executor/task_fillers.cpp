#include "task_fillers.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "schedule_wire.hpp"

namespace crossdock {

namespace {

// Which items of an outgoing message several values go to.
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

task_draft combining_task(graph_task& from, item_reader& reader) {
    task_draft task;
    const auto use = [&](copy_list& input, copy_list& arrived, bool combines) {
        task.add({no_buffer, combines, 0, 0, std::move(input)});
        if (reader.pull_list(task, arrived, 0, combines)) return;
        for_each_move_run(arrived,
                          [&](const move_run& what) { reader.pull(task, what, combines); });
    };
    use(from.copy_input, from.copy_arrived, false);
    use(from.combine_input, from.combine_arrived, true);
    return task;
}

// If one section of another buffer holds just the items of the list, takes the list as it is and
// looks at no single item.
bool takes_whole_section(std::vector<task_draft>& tasks, copy_list& list, item_reader& reader) {
    const arrived_item first(list.from.first());
    const located_run& run = reader.locate(first);
    const item_reference where = run.at_first;
    if (where.buffer == reader.here() || !list.from.is_consecutive() || first != run.first ||
        list.size() != run.end - run.first) {
        return false;
    }
    auto& task = tasks.emplace_back();
    reader.await(task, where, list.size());
    task.add({where.buffer, false, where.slot.value() - first.value(), 0, std::move(list)});
    return true;
}

void copy_by_section(std::vector<task_draft>& tasks, const copy_list& list, item_reader& reader) {
    std::map<std::pair<buffer_number, section_number>, std::size_t> task_of;
    for_each_move_run(list, [&](move_run what) {
        while (what.length > 0) {
            const arrived_item first(what.from);
            const located_run& around = reader.locate(first);
            const count_t length = std::min(what.length, around.end - first);
            const auto [entry, is_new] = task_of.try_emplace(
                {around.at_first.buffer, around.at_first.section}, tasks.size());
            if (is_new) tasks.emplace_back();
            reader.pull(tasks[entry->second], what.first(length), false);
            what.drop_first(length);
        }
    });
}

}  // namespace

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

void section_filler::refer(outgoing_number i, std::vector<std::int64_t>& words) {
    const auto& message = work_.outgoing[i.value()];
    const auto& lists = work_.fills[i.value()];
    tasks_[i].target = task_target::section(layout_.here(), layout_.section_of(i));
    if (lists.copy_input.size() < lists.num_copies()) return encode_all(words, fill(i));
    inputs_.note_all(lists.copy_input);
    const slot_number first = layout_.slot_of(departing_item(message.first_item));
    encode(words, {{layout_.here(), layout_.section_of(i), true, first}, message.num_items});
}

void section_filler::place(outgoing_number i) {
    const auto& message = work_.outgoing[i.value()];
    std::vector<std::int64_t> references;
    refer(i, references);
    for (departing_item item(message.first_item), end = item + message.num_items; item < end;
         ++item) {
        if (inputs_.input_of(item) >= 0) inputs_.request(item, 1);
    }
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

void fill_output(std::vector<task_draft>& tasks, graph_task& output, item_reader& reader) {
    if (output.combines()) return tasks.push_back(combining_task(output, reader));
    if (output.copy_input.size() > 0)
        tasks.emplace_back().add({no_buffer, false, 0, 0, std::move(output.copy_input)});
    if (output.copy_arrived.size() == 0 || takes_whole_section(tasks, output.copy_arrived, reader))
        return;
    task_draft task;
    if (reader.pull_list(task, output.copy_arrived, 0, false, 1)) {
        tasks.push_back(std::move(task));
    } else {
        copy_by_section(tasks, output.copy_arrived, reader);
    }
}

}  // namespace crossdock
