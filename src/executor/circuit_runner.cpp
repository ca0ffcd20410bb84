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
      blocks_(std::move(blocks)),
      item_bytes_(item_bytes),
      half_mask_(num_halves_of(*work_) - 1),
      is_contributed_(work_->sends.size()),
      is_sent_(work_->sends.size()) {
    for (int number = 0; number < static_cast<int>(work_->tasks.size()); ++number) {
        const auto& t = task(number);
        all_.tasks.push_back({number, 0, is_foreign(*work_, t)});
        if (t.purpose != task_purpose::output) ++all_.num_duties;
        if (all_.tasks.back().is_foreign) ++all_.num_foreign;
    }
    all_.num_gated = static_cast<std::size_t>(std::count_if(
        work_->sends.begin(), work_->sends.end(), [](const auto& part) { return part.gate >= 0; }));
    receives_for_others_ =
        !work_->readers.empty() ||
        std::any_of(work_->receives.begin(), work_->receives.end(), [&](const auto& part) {
            return part.section >= 0 && part.block != work_->here;
        });
}

// Whether a task waits for other ranks of the domain.
bool circuit_runner::is_foreign(const circuit& work, const circuit_task& task) {
    if (task.purpose == task_purpose::foreign_part) return true;
    if (task.purpose == task_purpose::section && !work.readers.empty()) return true;
    return std::any_of(
        task.awaited.begin(), task.awaited.end(), [&](const section_reference& awaited) {
            return awaited.block != work.here || awaited.section >= work.num_received_sections;
        });
}

void circuit_runner::begin(const std::byte* input, std::byte* output, combine_function combine) {
    ++generation_;
    input_ = input;
    output_ = output;
    combine_ = std::move(combine);
    readers_are_through_ = work_->readers.empty();
    is_receivable_ = !work_->has_foreign_receivers;
    num_unreceived_ = work_->num_section_receives;
    num_unsent_ = work_->sends.size();
    left_ = all_;
    std::fill(is_sent_.begin(), is_sent_.end(), char{false});
    std::fill(is_contributed_.begin(), is_contributed_.end(), char{false});
}

bool circuit_runner::readers_are_through() {
    if (readers_are_through_) return true;
    for (const int reader : work_->readers) {
        if (!is_through(own_block().read(reader).load(std::memory_order_acquire))) return false;
    }
    return readers_are_through_ = true;
}

void circuit_runner::tell_receivable() {
    if (is_receivable_ || !readers_are_through()) return;
    own_block().receivable().store(generation_, std::memory_order_release);
    is_receivable_ = true;
}

bool circuit_runner::may_receive() {
    if (!readers_are_through()) return false;
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
    --num_unreceived_;
}

void circuit_runner::note_all_received() {
    for (std::size_t part = 0; part < work_->num_section_receives; ++part) note_received(part);
    num_unreceived_ = 0;
}

bool circuit_runner::can_run(pending_task& pending) {
    const auto& t = task(pending.number);
    for (; pending.num_readable < t.awaited.size(); ++pending.num_readable) {
        const auto& [owner, section] = t.awaited[pending.num_readable];
        if (block(owner).section(section).load(std::memory_order_acquire) < generation_)
            return false;
    }
    switch (t.purpose) {
        case task_purpose::foreign_part:
            return is_through(block(t.to_block).through().load(std::memory_order_acquire)) &&
                   (t.sender < 0 ||
                    is_through(block(t.to_block).read(t.sender).load(std::memory_order_acquire)));
        case task_purpose::section: return readers_are_through();
        default: return true;
    }
}

void circuit_runner::run(const circuit_task& t) {
    const auto places = [&](int number) { return block(number).places(half()); };
    std::byte* const to = t.to_block == no_block ? output_ : places(t.to_block);
    for (const auto& step : t.steps) {
        const std::byte* const from =
            step.from_block == no_block ? input_ : places(step.from_block);
        const auto bytes = static_cast<count_t>(item_bytes_);
        std::byte* const first_to = to + step.to_offset * bytes;
        const std::byte* const first_from = from + step.from_offset * bytes;
        if (step.combines) {
            combine_(first_to, first_from, step.list);
        } else {
            copy_items(first_to, first_from, step.list, item_bytes_);
        }
    }
}

void circuit_runner::complete(const circuit_task& t, sender& to) {
    if (t.purpose != task_purpose::output) --left_.num_duties;
    switch (t.purpose) {
        case task_purpose::output: break;
        case task_purpose::section:
            own_block().section(t.number).store(generation_, std::memory_order_release);
            break;
        case task_purpose::foreign_part:
            block(t.to_block).gate(t.number, half()).fetch_add(1, std::memory_order_release);
            break;
        case task_purpose::own_part: {
            const auto part = static_cast<std::size_t>(t.number);
            is_contributed_[part] = true;
            const int gate = work_->sends[part].gate;
            if (gate >= 0) own_block().gate(gate, half()).fetch_add(1, std::memory_order_release);
            send_if_filled(part, to);
        }
    }
}

bool circuit_runner::is_filled(std::size_t part) const {
    const auto& sent = work_->sends[part];
    if (sent.gate < 0) return is_contributed_[part] || sent.num_contributors == 0;
    const std::uint64_t uses_of_half = (generation_ + 1) / 2;
    return block(sent.block).gate(sent.gate, half()).load(std::memory_order_acquire) ==
           uses_of_half * static_cast<std::uint64_t>(sent.num_contributors);
}

void circuit_runner::send_if_filled(std::size_t part, sender& to) {
    if (is_sent_[part] || !is_filled(part)) return;
    if (work_->sends[part].is_after_previous && !is_sent_[part - 1]) return;
    is_sent_[part] = true;
    --num_unsent_;
    if (work_->sends[part].gate >= 0) --left_.num_gated;
    to.send(part);
}

void circuit_runner::advance(sender& to) {
    tell_receivable();
    auto kept = left_.tasks.begin();
    for (auto& pending : left_.tasks) {
        if (!can_run(pending)) {
            *kept++ = pending;
            continue;
        }
        const auto& t = task(pending.number);
        run(t);
        if (pending.is_foreign) --left_.num_foreign;
        complete(t, to);
    }
    left_.tasks.erase(kept, left_.tasks.end());
    for (std::size_t part = 0; num_unsent_ > 0 && part < is_sent_.size(); ++part)
        send_if_filled(part, to);
}

void circuit_runner::end() {
    for (const int owner : work_->owners)
        block(owner).read(work_->here).store(generation_, std::memory_order_release);
    own_block().through().store(generation_, std::memory_order_release);
}

bool circuit_runner::is_read() const {
    return std::all_of(work_->readers.begin(), work_->readers.end(), [&](int reader) {
        return own_block().read(reader).load(std::memory_order_acquire) >= generation_;
    });
}

}  // namespace crossdock
