#include "task_steps.hpp"

#include <algorithm>
#include <utility>

namespace crossdock {

copy_list& list_for(schedule_task& task, buffer_number from_buffer, bool combines) {
    auto step = task.steps.end();
    if (!task.steps.empty()) {
        const auto fits = [&](const copy_step& s) {
            return s.from_buffer == from_buffer && s.combines == combines && s.from_offset == 0 &&
                   s.to_offset == 0;
        };
        if (fits(task.steps.back())) {
            step = task.steps.end() - 1;
        } else if (!combines) {
            step = std::find_if(task.steps.begin(), task.steps.end(), fits);
        }
    }
    if (step == task.steps.end()) {
        step = task.steps.insert(step, {from_buffer, 0, 0, combines, {}});
    }
    return step->list;
}

void add_copies(schedule_task& task, buffer_number from_buffer, bool combines,
                const move_run& what) {
    auto& list = list_for(task, from_buffer, combines);
    for (count_t k = 0; k < what.length; ++k) list.append(what.from + k, what.to + k);
}

void add_list(schedule_task& task, buffer_number from_buffer, count_t from_offset,
              count_t to_offset, copy_list list) {
    if (list.size() == 0) return;
    task.steps.push_back({from_buffer, from_offset, to_offset, false, std::move(list)});
}

}  // namespace crossdock
