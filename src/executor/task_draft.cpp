#include "task_draft.hpp"

#include <algorithm>
#include <utility>

namespace crossdock {

namespace {

index_run index_run_of(const index_piece& piece, count_t offset) {
    return {piece.first + offset, piece.step, piece.offsets};
}

// Whether a task waits for other ranks of the domain.
bool is_foreign(const shared_memory_schedule& work, const task_draft& task) {
    const auto purpose = task.target.purpose();
    if (purpose == task_purpose::foreign_part) return true;
    if (purpose == task_purpose::section && !work.readers.empty()) return true;
    const section_number end_of_received(work.num_received_sections);
    return std::ranges::any_of(task.awaited, [&](const section_reference& awaited) {
        return awaited.buffer != work.here || awaited.section >= end_of_received;
    });
}

bool sends_alone(const shared_memory_schedule& work, const task_target& target) {
    if (target.purpose() != task_purpose::own_part) return false;
    const auto& part = work.sends[target.part()];
    return part.counter == no_counter && !part.is_after_previous;
}

void append(shared_memory_schedule& work, step_draft&& from) {
    bool keeps_list = from.combines;
    if (from.combines) {
        work.combines = true;
        auto& to = work.steps.emplace_back();
        to.from.first = from.from_offset;
        to.to.first = from.to_offset;
        to.from_buffer = from.from_buffer;
        to.combining = checked_cast<int>(work.lists.size());
    } else {
        from.list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
            keeps_list = keeps_list || from_piece.offsets || to_piece.offsets;
            work.steps.push_back({index_run_of(from_piece, from.from_offset),
                                  index_run_of(to_piece, from.to_offset), to_piece.size,
                                  from.from_buffer});
        });
    }
    if (keeps_list) work.lists.push_back(std::move(from.list));
}

}  // namespace

void task_draft::add(buffer_number from_buffer, bool combines, const move_run& what) {
    const auto fits = [&](const step_draft& s) {
        return s.from_buffer == from_buffer && s.combines == combines && s.from_offset == 0 &&
               s.to_offset == 0;
    };
    auto step = steps.rbegin();
    while (step != steps.rend() && !fits(*step)) step = combines ? steps.rend() : step + 1;
    if (step == steps.rend()) {
        steps.push_back({from_buffer, combines});
        step = steps.rbegin();
    }
    for (count_t k = 0; k < what.length; ++k) step->list.append(what.from + k, what.to + k);
}

void task_draft::add(step_draft step) {
    if (step.list.size() > 0) steps.push_back(std::move(step));
}

void task_draft::append_to(shared_memory_schedule& work) && {
    if (steps.empty()) return;
    auto& to = work.tasks.emplace_back();
    to.target = target;
    to.is_foreign = is_foreign(work, *this);
    to.sends_alone = sends_alone(work, target);
    to.first_step = checked_cast<int>(work.steps.size());
    for (auto& step : steps) append(work, std::move(step));
    to.end_step = checked_cast<int>(work.steps.size());
    to.first_awaited = checked_cast<int>(work.awaited.size());
    work.awaited.insert(work.awaited.end(), awaited.begin(), awaited.end());
    to.end_awaited = checked_cast<int>(work.awaited.size());
}

}  // namespace crossdock
