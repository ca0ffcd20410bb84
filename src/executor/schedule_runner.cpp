#include "schedule_runner.hpp"

#include <algorithm>
#include <new>

namespace crossdock {

namespace {

std::size_t whole_lines(std::size_t bytes) {
    return (bytes + exchange_buffer::alignment - 1) / exchange_buffer::alignment *
           exchange_buffer::alignment;
}

// A domain of one rank needs no second half: nobody else reads what came in the last exchange.
std::size_t num_halves_of(const shared_memory_schedule& work) {
    return work.num_buffers > 1 ? 2 : 1;
}

}  // namespace

std::size_t exchange_buffer::num_lines(const shared_memory_schedule& work) {
    return static_cast<std::size_t>(2 + work.num_buffers + work.num_sections +
                                    2 * work.num_counters);
}

std::size_t exchange_buffer::half_bytes(const shared_memory_schedule& work,
                                        std::size_t item_bytes) {
    return whole_lines(static_cast<std::size_t>(work.num_slots) * item_bytes);
}

std::size_t exchange_buffer::size_bytes(const shared_memory_schedule& work,
                                        std::size_t item_bytes) {
    return num_lines(work) * alignment + num_halves_of(work) * half_bytes(work, item_bytes);
}

exchange_buffer exchange_buffer::make(std::byte* memory, const shared_memory_schedule& work,
                                      std::size_t item_bytes) {
    new (memory) buffer_head{0, work.num_buffers, work.num_sections, num_lines(work) * alignment,
                             half_bytes(work, item_bytes)};
    for (std::size_t i = 1; i < num_lines(work); ++i) new (memory + i * alignment) word_line;
    return exchange_buffer(memory);
}

schedule_runner::schedule_runner(std::shared_ptr<const shared_memory_schedule> work,
                                 index_vector<buffer_number, exchange_buffer> buffers,
                                 std::size_t item_bytes, rank_t own_rank)
    : work_(std::move(work)),
      half_mask_(num_halves_of(*work_) - 1),
      item_bytes_(item_bytes),
      copy_(piece_copy_for(item_bytes)),
      parts_(work_->sends.size()),
      origins_(work_->sends.size(), nobody),
      buffers_(std::move(buffers)),
      own_buffer_(buffer(work_->here)),
      own_rank_(own_rank) {
    pending_.reserve(work_->tasks.size());  // an exchange under way needs no memory
    for (std::size_t half = 0; half < num_halves(); ++half) {
        for (const auto& one : buffers_) slots_.push_back(one.slots(half));
    }
    all_.num_tasks = checked_cast<int>(work_->tasks.size());
    for (const auto& task : work_->tasks) {
        if (task.target.purpose() != task_purpose::output) ++all_.num_duties;
        if (task.is_foreign) ++all_.num_foreign;
    }
    for (const auto& part : work_->sends) {
        if (part.counter != no_counter) ++all_.num_counted;
    }
    all_.num_unsent = checked_cast<int>(work_->sends.size());
    all_.num_unreceived = work_->num_section_receives;
    all_.readers_are_finished = work_->readers.empty();
    all_.is_receivable = !work_->has_foreign_receivers;
    receives_for_others_ =
        !work_->readers.empty() ||
        std::any_of(work_->receives.begin(), work_->receives.end(), [&](const auto& part) {
            return part.section != no_section && part.buffer != work_->here;
        });
}

void schedule_runner::begin(const std::byte* input, std::byte* output, combine_function combine) {
    ++epoch_;
    input_ = input;
    output_ = output;
    if (work_->combines) combine_ = std::move(combine);
    left_ = all_;
    has_looked_ = false;
    failed_ = nobody;
    empty_for_ = nobody;
    if (thrown_) thrown_ = nullptr;
    std::fill(parts_.begin(), parts_.end(), char{0});
}

void schedule_runner::begin_empty(rank_t failed) {
    begin(nullptr, nullptr, {});
    empty_for_ = failed;
}

bool schedule_runner::readers_are_finished() {
    if (left_.readers_are_finished) return true;
    for (const buffer_number reader : work_->readers) {
        if (!is_finished(own_buffer().read(reader).load(std::memory_order_acquire))) return false;
    }
    return left_.readers_are_finished = true;
}

void schedule_runner::tell_receivable() {
    if (left_.is_receivable || !readers_are_finished()) return;
    own_buffer().receivable().store(epoch_, std::memory_order_release);
    left_.is_receivable = true;
}

bool schedule_runner::may_receive() {
    if (!readers_are_finished()) return false;
    if (all_.num_unreceived == 0) return true;
    const auto is_receivable = [&](const schedule_part& part) {
        return part.buffer == work_->here ||
               buffer(part.buffer).receivable().load(std::memory_order_acquire) >= epoch_;
    };
    return std::all_of(work_->receives.begin(),
                       work_->receives.begin() + work_->num_section_receives, is_receivable);
}

void schedule_runner::note_received(receive_number part, rank_t origin) {
    const auto& received = work_->receives[part];
    auto& section = buffer(received.buffer).section(received.section);
    if (origin != nobody) mark_failure(section, origin);
    section.store(epoch_, std::memory_order_release);
    --left_.num_unreceived;
}

void schedule_runner::mark_failure(exchange_buffer::word& of, rank_t origin) const {
    auto& failure = exchange_buffer::failure_of(of, half());
    failure.rank.store(static_cast<std::uint64_t>(origin), std::memory_order_relaxed);
    failure.epoch.store(epoch_, std::memory_order_relaxed);
}

// To be asked once the word says that the items are there.
rank_t schedule_runner::failure_at(exchange_buffer::word& of) const {
    const auto& failure = exchange_buffer::failure_of(of, half());
    if (failure.epoch.load(std::memory_order_relaxed) != epoch_) return nobody;
    return static_cast<rank_t>(failure.rank.load(std::memory_order_relaxed));
}

bool schedule_runner::can_run(const schedule_task& task, pending_task& pending) {
    for (; pending.next_awaited < task.end_awaited; ++pending.next_awaited) {
        const auto& [owner, number] =
            work_->awaited[static_cast<std::size_t>(pending.next_awaited)];
        auto& section = buffer(owner).section(number);
        if (section.load(std::memory_order_acquire) < epoch_) return false;
        if (const rank_t origin = failure_at(section); origin != nobody) pending.origin = origin;
    }
    const task_target& target = task.target;
    switch (target.purpose()) {
        case task_purpose::foreign_part: {
            const exchange_buffer& to = buffer(target.buffer());
            return is_finished(to.finished().load(std::memory_order_acquire)) &&
                   (target.sender() == no_buffer ||
                    is_finished(to.read(target.sender()).load(std::memory_order_acquire)));
        }
        case task_purpose::section: return readers_are_finished();
        default: return true;
    }
}

void schedule_runner::run(const schedule_task& task) const {
    const buffer_number to_buffer = task.target.buffer();
    std::byte* const to = to_buffer == no_buffer ? output_ : slots(to_buffer, half());
    for (const auto& step : work_->steps_of(task)) {
        const std::byte* const from =
            step.from_buffer == no_buffer ? input_ : slots(step.from_buffer, half());
        if (step.combining < 0) {
            copy_(to, from, step.from.piece(step.size), step.to.piece(step.size), item_bytes_);
        } else {
            const auto bytes = static_cast<count_t>(item_bytes_);
            combine_(to + step.to.first * bytes, from + step.from.first * bytes,
                     work_->lists[static_cast<std::size_t>(step.combining)]);
        }
    }
}

// Whether a task reads the user's input, writes to the user's output, or calls the user's function.
bool schedule_runner::needs_user(const schedule_task& task) const {
    if (task.target.purpose() == task_purpose::output) return true;
    const auto is_of_user = [](const auto& step) {
        return step.from_buffer == no_buffer || step.combining >= 0;
    };
    return std::ranges::any_of(work_->steps_of(task), is_of_user);
}

// Runs a task; returns whose fault it is that it could not.
rank_t schedule_runner::run_or_fail(const schedule_task& task) {
    if (empty_for_ != nobody && needs_user(task)) return empty_for_;
    try {
        run(task);
        return nobody;
    } catch (...) {
        if (!thrown_) thrown_ = std::current_exception();
        return own_rank_;
    }
}

void schedule_runner::complete(const schedule_task& task, rank_t origin, sender& to) {
    --left_.num_tasks;
    if (task.is_foreign) --left_.num_foreign;
    const task_target& target = task.target;
    if (target.purpose() != task_purpose::output) --left_.num_duties;
    switch (target.purpose()) {
        case task_purpose::output:
            if (origin != nobody) failed_ = origin;
            break;
        case task_purpose::section:
            if (origin != nobody) mark_failure(own_buffer().section(target.section()), origin);
            own_buffer().section(target.section()).store(epoch_, std::memory_order_release);
            break;
        case task_purpose::foreign_part: {
            auto& counter = buffer(target.buffer()).counter(target.counter(), half());
            if (origin != nobody) mark_failure(counter, origin);
            counter.fetch_add(1, std::memory_order_release);
            break;
        }
        case task_purpose::own_part: {
            const send_number part = target.part();
            if (task.sends_alone) return send_part(part, origin, to);
            if (origin != nobody) {
                parts_[part] |= is_broken;
                origins_[part] = origin;
            }
            parts_[part] |= is_contributed;
            const counter_number counter = work_->sends[part].counter;
            // Only this rank, which sends the part, looks at the counter.
            if (counter != no_counter)
                own_buffer().counter(counter, half()).fetch_add(1, std::memory_order_relaxed);
            send_if_filled(part, to);
        }
    }
}

bool schedule_runner::is_filled(send_number part) const {
    const auto& sent = work_->sends[part];
    if (sent.counter == no_counter) return has(is_contributed, part) || sent.num_contributors == 0;
    const std::uint64_t uses_of_half = (epoch_ + 1) / 2;
    return buffer(sent.buffer).counter(sent.counter, half()).load(std::memory_order_acquire) ==
           uses_of_half * static_cast<std::uint64_t>(sent.num_contributors);
}

void schedule_runner::send_if_filled(send_number part, sender& to) {
    if (has(is_sent, part) || !is_filled(part)) return;
    const auto& sent = work_->sends[part];
    if (sent.is_after_previous && !has(is_sent, part - 1)) return;
    if (sent.counter != no_counter) --left_.num_counted;
    send_part(part, origin_of(part), to);
}

void schedule_runner::send_part(send_number part, rank_t origin, sender& to) {
    parts_[part] |= is_sent;
    --left_.num_unsent;
    if (origin == nobody) {
        to.send(part);
    } else {
        to.send_failure(part, origin);
    }
}

// Whose fault it is that a part that is filled lacks items.
rank_t schedule_runner::origin_of(send_number part) const {
    const auto& sent = work_->sends[part];
    if (has(is_broken, part)) return origins_[part];
    if (sent.counter != no_counter)
        return failure_at(buffer(sent.buffer).counter(sent.counter, half()));
    return sent.num_contributors == 0 ? empty_for_ : nobody;
}

// Runs a task unless it has to wait; true if it has run.
bool schedule_runner::has_run(pending_task& pending, sender& to) {
    const auto& task = work_->tasks[static_cast<std::size_t>(pending.number)];
    if (!can_run(task, pending)) return false;
    complete(task, pending.origin == nobody ? run_or_fail(task) : pending.origin, to);
    return true;
}

void schedule_runner::advance(sender& to) {
    tell_receivable();
    if (has_looked_) {
        look_at_pending(to);
    } else {
        look_at_all(to);
    }
    for (send_number part; left_.num_unsent > 0 && part < parts_.end_index(); ++part)
        send_if_filled(part, to);
}

// Runs the tasks that need not wait, and notes the others as pending.
void schedule_runner::look_at_all(sender& to) {
    has_looked_ = true;
    for (int number = 0; number < static_cast<int>(work_->tasks.size()); ++number) {
        pending_task pending{number, work_->tasks[static_cast<std::size_t>(number)].first_awaited};
        if (!has_run(pending, to)) pending_.push_back(pending);
    }
}

void schedule_runner::look_at_pending(sender& to) {
    auto kept = pending_.begin();
    for (auto& pending : pending_) {
        if (!has_run(pending, to)) *kept++ = pending;
    }
    pending_.erase(kept, pending_.end());
}

std::vector<buffer_number> schedule_runner::all_awaited() const {
    std::vector<buffer_number> all;
    for (const auto& task : pending_) {
        const auto owner = awaited_by(task);
        if (owner != no_buffer && owner != work_->here) all.push_back(owner);
    }
    if (!all.empty() || !awaits_domain()) return all;
    for (buffer_number other; other < buffers_.end_index(); ++other) {
        if (other != work_->here) all.push_back(other);
    }
    return all;
}

void schedule_runner::end() {
    if (combine_) combine_ = nullptr;  // it may hold what the user wants back
    if (buffers_.size() == 1) return;  // nobody else looks
    for (const buffer_number owner : work_->owners)
        buffer(owner).read(work_->here).store(epoch_, std::memory_order_release);
    own_buffer().finished().store(epoch_, std::memory_order_release);
}

std::function<bool()> schedule_runner::read_check() const {
    return [own = own_buffer(), readers = work_->readers, last = epoch_] {
        return std::all_of(readers.begin(), readers.end(), [&](buffer_number reader) {
            return own.read(reader).load(std::memory_order_acquire) >= last;
        });
    };
}

}  // namespace crossdock
