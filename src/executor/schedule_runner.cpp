#include "crossdock/executor/circuit_runner.hpp"

#include <algorithm>
#include <new>

namespace crossdock {

namespace {

std::size_t whole_lines(std::size_t bytes) {
    return (bytes + circuit_block::alignment - 1) / circuit_block::alignment *
           circuit_block::alignment;
}

// A rank for itself needs no second half: it begins no exchange before it has ended the last.
std::size_t num_halves_of(const circuit& work) { return work.num_blocks > 1 ? 2 : 1; }

}  // namespace

std::size_t circuit_block::num_lines(const circuit& work) {
    return static_cast<std::size_t>(2 + work.num_blocks + work.num_sections + 2 * work.num_gates);
}

std::size_t circuit_block::half_bytes(const circuit& work, std::size_t item_bytes) {
    return whole_lines(static_cast<std::size_t>(work.num_places) * item_bytes);
}

std::size_t circuit_block::size_bytes(const circuit& work, std::size_t item_bytes) {
    return num_lines(work) * alignment + num_halves_of(work) * half_bytes(work, item_bytes);
}

circuit_block circuit_block::make(std::byte* memory, const circuit& work, std::size_t item_bytes) {
    new (memory) block_head{0, work.num_blocks, work.num_sections, num_lines(work) * alignment,
                            half_bytes(work, item_bytes)};
    for (std::size_t i = 1; i < num_lines(work); ++i) new (memory + i * alignment) word(0);
    return circuit_block(memory);
}

circuit_runner::circuit_runner(std::shared_ptr<const circuit> work,
                               std::vector<circuit_block> blocks, std::size_t item_bytes)
    : work_(std::move(work)),
      half_mask_(num_halves_of(*work_) - 1),
      item_bytes_(item_bytes),
      copy_(piece_copy_for(item_bytes)),
      parts_(work_->sends.size()),
      blocks_(std::move(blocks)),
      own_block_(block(work_->here)),
      program_(*work_) {
    for (std::size_t half = 0; half < num_halves(); ++half) {
        for (const auto& one : blocks_) places_.push_back(one.places(half));
    }
    all_.num_tasks = checked_cast<int>(program_.tasks.size());
    for (const auto& task : program_.tasks) {
        if (task.purpose != task_purpose::output) ++all_.num_duties;
        if (task.is_foreign) ++all_.num_foreign;
    }
    for (const auto& part : program_.sends) {
        if (part.gate >= 0) ++all_.num_gated;
    }
    all_.num_unsent = checked_cast<int>(work_->sends.size());
    all_.num_unreceived = checked_cast<int>(work_->num_section_receives);
    all_.readers_are_through = work_->readers.empty();
    all_.is_receivable = !work_->has_foreign_receivers;
    receives_for_others_ =
        !work_->readers.empty() ||
        std::any_of(work_->receives.begin(), work_->receives.end(), [&](const auto& part) {
            return part.section >= 0 && part.block != work_->here;
        });
}

void circuit_runner::begin(const std::byte* input, std::byte* output, combine_function combine) {
    ++generation_;
    input_ = input;
    output_ = output;
    if (!program_.combining_steps.empty()) combine_ = std::move(combine);
    left_ = all_;
    has_looked_ = false;
    std::fill(parts_.begin(), parts_.end(), char{0});
}

bool circuit_runner::readers_are_through() {
    if (left_.readers_are_through) return true;
    for (const int reader : work_->readers) {
        if (!is_through(own_block().read(reader).load(std::memory_order_acquire))) return false;
    }
    return left_.readers_are_through = true;
}

void circuit_runner::tell_receivable() {
    if (left_.is_receivable || !readers_are_through()) return;
    own_block().receivable().store(generation_, std::memory_order_release);
    left_.is_receivable = true;
}

bool circuit_runner::may_receive() {
    if (!readers_are_through()) return false;
    if (all_.num_unreceived == 0) return true;
    const auto is_receivable = [&](const circuit_part& part) {
        return part.block == work_->here ||
               block(part.block).receivable().load(std::memory_order_acquire) >= generation_;
    };
    return std::all_of(
        work_->receives.begin(),
        work_->receives.begin() + static_cast<std::ptrdiff_t>(work_->num_section_receives),
        is_receivable);
}

void circuit_runner::note_received(std::size_t part) {
    const auto& received = work_->receives[part];
    block(received.block).section(received.section).store(generation_, std::memory_order_release);
    --left_.num_unreceived;
}

void circuit_runner::note_all_received() {
    for (int part = 0; part < all_.num_unreceived; ++part)
        note_received(static_cast<std::size_t>(part));
    left_.num_unreceived = 0;
}

bool circuit_runner::can_run(const circuit_program::task& task, int& next_awaited) {
    for (; next_awaited < task.end_awaited; ++next_awaited) {
        const auto& [owner, section] = program_.awaited[static_cast<std::size_t>(next_awaited)];
        if (block(owner).section(section).load(std::memory_order_acquire) < generation_)
            return false;
    }
    switch (task.purpose) {
        case task_purpose::foreign_part:
            return is_through(block(task.to_block).through().load(std::memory_order_acquire)) &&
                   (task.sender < 0 ||
                    is_through(
                        block(task.to_block).read(task.sender).load(std::memory_order_acquire)));
        case task_purpose::section: return readers_are_through();
        default: return true;
    }
}

void circuit_runner::run(const circuit_program::task& task) const {
    std::byte* const to = task.to_block == no_block ? output_ : places(task.to_block, half());
    for (int i = task.first_step; i < task.end_step; ++i) {
        const auto& step = program_.steps[static_cast<std::size_t>(i)];
        const std::byte* const from =
            step.from_block == no_block ? input_ : places(step.from_block, half());
        if (step.combining < 0) {
            copy_(to, from, step.from.piece(step.size), step.to.piece(step.size), item_bytes_);
        } else {
            const auto& all = *program_.combining_steps[static_cast<std::size_t>(step.combining)];
            const auto bytes = static_cast<count_t>(item_bytes_);
            combine_(to + all.to_offset * bytes, from + all.from_offset * bytes, all.list);
        }
    }
}

void circuit_runner::complete(const circuit_program::task& task, sender& to) {
    --left_.num_tasks;
    if (task.is_foreign) --left_.num_foreign;
    if (task.purpose != task_purpose::output) --left_.num_duties;
    switch (task.purpose) {
        case task_purpose::output: break;
        case task_purpose::section:
            own_block().section(task.number).store(generation_, std::memory_order_release);
            break;
        case task_purpose::foreign_part:
            block(task.to_block).gate(task.number, half()).fetch_add(1, std::memory_order_release);
            break;
        case task_purpose::own_part: {
            const auto part = static_cast<std::size_t>(task.number);
            if (task.sends_alone) return send_part(part, to);
            parts_[part] |= is_contributed;
            const int gate = program_.sends[part].gate;
            if (gate >= 0) own_block().gate(gate, half()).fetch_add(1, std::memory_order_release);
            send_if_filled(part, to);
        }
    }
}

bool circuit_runner::is_filled(std::size_t part) const {
    const auto& sent = program_.sends[part];
    if (sent.gate < 0) return has(is_contributed, part) || sent.num_contributors == 0;
    const std::uint64_t uses_of_half = (generation_ + 1) / 2;
    return block(sent.block).gate(sent.gate, half()).load(std::memory_order_acquire) ==
           uses_of_half * static_cast<std::uint64_t>(sent.num_contributors);
}

void circuit_runner::send_if_filled(std::size_t part, sender& to) {
    if (has(is_sent, part) || !is_filled(part)) return;
    const auto& sent = program_.sends[part];
    if (sent.is_after_previous && !has(is_sent, part - 1)) return;
    if (sent.gate >= 0) --left_.num_gated;
    send_part(part, to);
}

void circuit_runner::send_part(std::size_t part, sender& to) {
    parts_[part] |= is_sent;
    --left_.num_unsent;
    to.send(part);
}

// Runs a task, unless it has to wait.
bool circuit_runner::has_run(pending_task& pending, sender& to) {
    const auto& task = program_.tasks[static_cast<std::size_t>(pending.number)];
    if (!can_run(task, pending.next_awaited)) return false;
    run(task);
    complete(task, to);
    return true;
}

void circuit_runner::advance(sender& to) {
    tell_receivable();
    if (has_looked_) {
        look_at_pending(to);
    } else {
        look_at_all(to);
    }
    for (std::size_t part = 0; left_.num_unsent > 0 && part < parts_.size(); ++part)
        send_if_filled(part, to);
}

// Runs the tasks that need not wait, and notes the others.
void circuit_runner::look_at_all(sender& to) {
    has_looked_ = true;
    for (int number = 0; number < static_cast<int>(program_.tasks.size()); ++number) {
        pending_task pending{number,
                             program_.tasks[static_cast<std::size_t>(number)].first_awaited};
        if (!has_run(pending, to)) pending_.push_back(pending);
    }
}

void circuit_runner::look_at_pending(sender& to) {
    auto kept = pending_.begin();
    for (auto& pending : pending_) {
        if (!has_run(pending, to)) *kept++ = pending;
    }
    pending_.erase(kept, pending_.end());
}

void circuit_runner::end() {
    if (combine_) combine_ = nullptr;  // it may hold what the user wants back
    if (blocks_.size() == 1) return;   // nobody else looks
    for (const int owner : work_->owners)
        block(owner).read(work_->here).store(generation_, std::memory_order_release);
    own_block().through().store(generation_, std::memory_order_release);
}

std::function<bool()> circuit_runner::read_check() const {
    return [own = own_block(), readers = work_->readers, last = generation_] {
        return std::all_of(readers.begin(), readers.end(), [&](int reader) {
            return own.read(reader).load(std::memory_order_acquire) >= last;
        });
    };
}

}  // namespace crossdock
