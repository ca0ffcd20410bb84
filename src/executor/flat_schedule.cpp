#include "crossdock/executor/circuit_program.hpp"

#include <algorithm>

namespace crossdock {

namespace {

circuit_program::place_list place_list_of(const index_piece& piece, count_t offset) {
    return {piece.first + offset, piece.step, piece.offsets};
}

// Whether a task waits for other ranks of the domain.
bool is_foreign(const circuit& work, const circuit_task& task) {
    if (task.purpose == task_purpose::foreign_part) return true;
    if (task.purpose == task_purpose::section && !work.readers.empty()) return true;
    return std::any_of(
        task.awaited.begin(), task.awaited.end(), [&](const section_reference& awaited) {
            return awaited.block != work.here || awaited.section >= work.num_received_sections;
        });
}

bool sends_alone(const circuit& work, const circuit_task& task) {
    if (task.purpose != task_purpose::own_part) return false;
    const auto& part = work.sends[static_cast<std::size_t>(task.number)];
    return part.gate < 0 && !part.is_after_previous;
}

}  // namespace

circuit_program::circuit_program(const circuit& work) {
    tasks.reserve(work.tasks.size());
    steps.reserve(work.tasks.size());
    for (const auto& from : work.tasks) {
        auto& to = tasks.emplace_back();
        to.purpose = from.purpose;
        to.is_foreign = is_foreign(work, from);
        to.sends_alone = sends_alone(work, from);
        to.to_block = from.to_block;
        to.number = from.number;
        to.sender = from.sender;
        to.first_step = checked_cast<int>(steps.size());
        for (const auto& one : from.steps) add(one);
        to.end_step = checked_cast<int>(steps.size());
        to.first_awaited = checked_cast<int>(awaited.size());
        awaited.insert(awaited.end(), from.awaited.begin(), from.awaited.end());
        to.end_awaited = checked_cast<int>(awaited.size());
    }
    sends.reserve(work.sends.size());
    for (const auto& part : work.sends) {
        sends.push_back({part.block, part.gate, part.num_contributors, part.is_after_previous});
    }
}

void circuit_program::add(const circuit_step& from) {
    if (from.combines) {
        auto& to = steps.emplace_back();
        to.from_block = from.from_block;
        to.combining = checked_cast<int>(combining_steps.size());
        combining_steps.push_back(&from);
        return;
    }
    from.list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        steps.push_back({place_list_of(from_piece, from.from_offset),
                         place_list_of(to_piece, from.to_offset), to_piece.size, from.from_block});
    });
}

}  // namespace crossdock
