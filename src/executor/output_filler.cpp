#include "output_filler.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace crossdock {

namespace {

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
