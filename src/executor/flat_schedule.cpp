#include "flat_schedule.hpp"

#include <algorithm>

namespace crossdock {

namespace {

flat_schedule::index_run index_run_of(const index_piece& piece, count_t offset) {
    return {piece.first + offset, piece.step, piece.offsets};
}

// Whether a task waits for other ranks of the domain.
bool is_foreign(const shared_memory_schedule& work, const schedule_task& task) {
    const auto purpose = task.target.purpose();
    if (purpose == task_purpose::foreign_part) return true;
    if (purpose == task_purpose::section && !work.readers.empty()) return true;
    const section_number end_of_received(work.num_received_sections);
    return std::any_of(task.awaited.begin(), task.awaited.end(),
                       [&](const section_reference& awaited) {
                           return awaited.buffer != work.here || awaited.section >= end_of_received;
                       });
}

bool sends_alone(const shared_memory_schedule& work, const schedule_task& task) {
    if (task.target.purpose() != task_purpose::own_part) return false;
    const auto& part = work.sends[task.target.part()];
    return part.counter == no_counter && !part.is_after_previous;
}

}  // namespace

flat_schedule::flat_schedule(const shared_memory_schedule& work) {
    tasks.reserve(work.tasks.size());
    steps.reserve(work.tasks.size());
    for (const auto& from : work.tasks) {
        auto& to = tasks.emplace_back();
        to.target = from.target;
        to.is_foreign = is_foreign(work, from);
        to.sends_alone = sends_alone(work, from);
        to.first_step = checked_cast<int>(steps.size());
        for (const auto& one : from.steps) add(one);
        to.end_step = checked_cast<int>(steps.size());
        to.first_awaited = checked_cast<int>(awaited.size());
        awaited.insert(awaited.end(), from.awaited.begin(), from.awaited.end());
        to.end_awaited = checked_cast<int>(awaited.size());
    }
    sends.reserve(work.sends.size());
    for (const auto& part : work.sends) {
        sends.push_back({part.buffer, part.counter, part.num_contributors, part.is_after_previous});
    }
}

void flat_schedule::add(const copy_step& from) {
    if (from.combines) {
        auto& to = steps.emplace_back();
        to.from_buffer = from.from_buffer;
        to.combining = checked_cast<int>(combining_steps.size());
        combining_steps.push_back(&from);
        return;
    }
    from.list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        steps.push_back({index_run_of(from_piece, from.from_offset),
                         index_run_of(to_piece, from.to_offset), to_piece.size, from.from_buffer});
    });
}

}  // namespace crossdock
