#include "shared_memory_schedule_builder.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace crossdock {

// References are runs of two words each: buffer, whether it is an input, section; slot, length.
// Access requests are: whether this rank reads; the number of arrival counters; for each its number, the sender, the
// number of runs, and three words for each run; the parts to be sent and those to be received, each
// after their number; then two words for each run that is to be copied.

namespace {

constexpr int length_bits = 24;
constexpr count_t max_run_length = (count_t{1} << length_bits) - 1;

std::int64_t pack_where(int buffer, bool is_input, int section) {
    return (std::int64_t{buffer} << 33) | (std::int64_t{is_input} << 32) | section;
}

// Calls `use(from, to)` for every pair of a list, in order.
template <class Use>
void for_each_move(const copy_list& list, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size(); ++k) use(from(k), to(k));
        });
    });
}

// Calls `use` for every run of a list, in order.
template <class Use>
void for_each_run(const copy_list& list, Use&& use) {
    move_run whole{0, 0, 0};
    for_each_move(list, [&](count_t from, count_t to) {
        if (from == whole.from + whole.length && to == whole.to + whole.length) {
            ++whole.length;
            return;
        }
        if (whole.length > 0) use(whole);
        whole = {from, to, 1};
    });
    if (whole.length > 0) use(whole);
}

copy_list& list_for(schedule_task& task, int from_buffer, bool combines) {
    auto step = task.steps.end();
    if (!task.steps.empty()) {
        const auto fits = [&](const copy_step& s) {
            return s.from_buffer == from_buffer && s.combines == combines && s.from_offset == 0 &&
                   s.to_offset == 0;
        };
        if (fits(task.steps.back())) {
            step = task.steps.end() - 1;
        } else if (!combines) {  // copies go to slots of their own, in any order
            step = std::find_if(task.steps.begin(), task.steps.end(), fits);
        }
    }
    if (step == task.steps.end()) {
        step = task.steps.insert(step, {from_buffer, 0, 0, combines, {}});
    }
    return step->list;
}

void add_copies(schedule_task& task, int from_buffer, bool combines, const move_run& what) {
    auto& list = list_for(task, from_buffer, combines);
    for (count_t k = 0; k < what.length; ++k) list.append(what.from + k, what.to + k);
}

void add_list(schedule_task& task, int from_buffer, count_t from_offset, count_t to_offset,
              copy_list list) {
    if (list.size() == 0) return;
    task.steps.push_back({from_buffer, from_offset, to_offset, false, std::move(list)});
}

void append_run(auto& runs, count_t first, count_t to, count_t length) {
    if (!runs.empty()) {
        auto& last = runs.back();
        if (first == last.first + last.length && to == last.to + last.length) {
            last.length += length;
            return;
        }
    }
    runs.push_back({first, to, length});
}

}  // namespace

shared_memory_schedule_builder::shared_memory_schedule_builder(task_graph work,
                                                               const memory_domain& domain,
                                                               count_t max_part_items,
                                                               const stripe_rule* stripes)
    : work_(std::move(work)),
      domain_(domain),
      max_part_items_(max_part_items),
      stripes_(stripes),
      finder_(work_.incoming) {
    result_.num_buffers = domain.size();
    result_.here = domain.here();
    result_.num_stages = work_.num_stages;
    result_.num_slots = work_.num_arrived + work_.num_departing;
    segments_.resize(work_.incoming.size());
    lay_out_receives();
    lay_out_sends();
}

count_t shared_memory_schedule_builder::part_items(const graph_message& message) const {
    const count_t per_stripe = (message.num_items + message.num_stripes - 1) / message.num_stripes;
    return std::clamp<count_t>(per_stripe, 1, max_part_items_);
}

// Calls `use(part, at, stripe)` for each part of a message to another domain, from its item `at`.
template <class Use>
void shared_memory_schedule_builder::for_each_part(const graph_message& message, Use&& use) const {
    const count_t length = part_items(message);
    int stripe = 0;
    for (count_t at = 0; at < message.num_items; at += length) {
        use(schedule_part{message.peer, message.stage, std::min(length, message.num_items - at),
                          message.is_in_place(), message.num_stripes > 1, result_.here},
            at, stripe);
        stripe = (stripe + 1) % message.num_stripes;
    }
}

// Sections that this rank receives come first.
void shared_memory_schedule_builder::lay_out_receives() {
    const rank_t here = domain_.rank_at(result_.here);
    const auto for_each_received = [&](auto&& use) {
        for (std::size_t m = 0; m < work_.incoming.size(); ++m) {
            const auto& message = work_.incoming[m];
            if (message.is_shared) continue;
            for_each_part(message, [&](schedule_part part, count_t at, int stripe) {
                rank_t receiver = here;
                if (part.is_stripe) {
                    part.peer = stripes_->sender(message.peer, stripe);
                    receiver = stripes_->receiver(here, stripe);
                }
                part.index = (part.is_in_place ? message.in_place_index : message.first_item) + at;
                use(m, domain_.number_of(receiver), message_part{message.peer, here, at, part});
            });
        }
    };
    const auto add_section = [&](std::size_t m, message_part& one) {
        auto& part = one.part;
        part.section = result_.num_sections++;
        segments_[m].push_back({part.index,
                                part.index + part.num_items,
                                {result_.here, part.section, false, part.index}});
    };
    for_each_received([&](std::size_t m, int receiver, message_part one) {
        if (receiver != result_.here) return;
        if (!one.part.is_in_place) add_section(m, one);
        receives_.push_back(one);
    });
    result_.num_received_sections = result_.num_sections;
    for_each_received([&](std::size_t m, int receiver, message_part one) {
        if (receiver == result_.here) return;
        add_section(m, one);
        access_requests_[receiver].receives.push_back(one);
        result_.has_foreign_receivers = true;
    });
    for (auto& segments : segments_) {
        std::sort(segments.begin(), segments.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
    }
}

void shared_memory_schedule_builder::lay_out_sends() {
    const rank_t here = domain_.rank_at(result_.here);
    first_message_section_ = result_.num_sections;
    first_filled_of_.resize(work_.outgoing.size());
    section_of_.resize(work_.outgoing.size(), -1);
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i];
        if (message.is_shared) {
            section_of_[i] = result_.num_sections++;
            continue;
        }
        first_filled_of_[i] = filled_.size();
        for_each_part(message, [&](schedule_part part, count_t at, int stripe) {
            int sender = result_.here;
            if (part.is_stripe) {
                part.peer = stripes_->receiver(message.peer, stripe);
                sender = domain_.number_of(stripes_->sender(here, stripe));
            }
            part.index = part.is_in_place ? message.in_place_index + at
                                          : departing_slot(message.first_item + at);
            if (sender != result_.here) part.counter = result_.num_counters++;
            filled_.push_back({{here, message.peer, at, part}, sender});
        });
    }
    if (result_.num_sections > first_message_section_) {
        section_tasks_.resize(
            static_cast<std::size_t>(result_.num_sections - first_message_section_));
        input_of_.assign(static_cast<std::size_t>(work_.num_departing), -1);
        is_requested_.assign(static_cast<std::size_t>(work_.num_departing), 0);
    }
}

const shared_memory_schedule_builder::segment& shared_memory_schedule_builder::segment_of(
    count_t arrived) {
    if (last_segment_.holds(arrived)) return last_segment_;
    const auto& segments = segments_[finder_.message_of(arrived)];
    const auto after =
        std::upper_bound(segments.begin(), segments.end(), arrived,
                         [](count_t item, const segment& s) { return item < s.first; });
    return last_segment_ = *(after - 1);
}

std::vector<int> shared_memory_schedule_builder::reference_sources(int stage) const {
    std::vector<int> sources;
    for (const auto& message : work_.incoming) {
        if (message.is_shared && message.stage == stage && message.num_items > 0)
            sources.push_back(domain_.number_of(message.peer));
    }
    return sources;
}

std::vector<word_message> shared_memory_schedule_builder::send_references(int stage) {
    std::vector<word_message> outbox;
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i];
        if (!message.is_shared || message.stage != stage || message.num_items == 0) continue;
        refer(i, outbox.emplace_back(word_message{domain_.number_of(message.peer), {}}));
    }
    return outbox;
}

// By departing item of the message, whether several values go there.
std::vector<bool> shared_memory_schedule_builder::combined_slots(
    const graph_task& task, const graph_message& message) const {
    std::vector<bool> is_combined;
    if (!task.combines()) return is_combined;
    is_combined.resize(static_cast<std::size_t>(message.num_items));
    const auto note = [&](count_t, count_t to) {
        is_combined[static_cast<std::size_t>(to - message.first_item)] = true;
    };
    for_each_move(task.combine_input, note);
    for_each_move(task.combine_arrived, note);
    return is_combined;
}

void shared_memory_schedule_builder::refer(std::size_t i, word_message& to) {
    const auto& message = work_.outgoing[i];
    auto& fill = work_.fills[i];
    schedule_task task{task_purpose::section, result_.here, section_of_[i], -1, {}, {}};
    const auto note_input = [&](count_t from, count_t departing) {
        input_of_[static_cast<std::size_t>(departing)] = from;
    };
    const auto refer_to = [&](const reference& first, count_t length) {
        for (count_t done = 0; done < length; done += max_run_length) {
            to.words.push_back(pack_where(first.buffer, first.is_input, first.section));
            to.words.push_back(((first.slot + done) << length_bits) |
                               std::min(max_run_length, length - done));
        }
    };
    if (fill.copy_input.size() == fill.num_copies()) {
        for_each_move(fill.copy_input, note_input);
        refer_to({result_.here, section_of_[i], true, departing_slot(message.first_item)},
                 message.num_items);
        section_task(i) = std::move(task);
        return;
    }

    const auto is_combined = combined_slots(fill, message);
    const auto at = [&](count_t departing) {
        return static_cast<std::size_t>(departing - message.first_item);
    };
    const auto combined_at = [&](count_t departing) {
        return !is_combined.empty() && is_combined[at(departing)];
    };
    std::vector<reference> where(static_cast<std::size_t>(message.num_items));
    for (count_t k = 0; k < message.num_items; ++k) {
        const count_t departing = message.first_item + k;
        where[at(departing)] = {result_.here, section_of_[i], !combined_at(departing),
                                departing_slot(departing)};
    }
    for_each_move(fill.copy_input, [&](count_t from, count_t departing) {
        if (combined_at(departing)) {
            add_copies(task, no_buffer, false, {from, departing_slot(departing), 1});
        } else {
            note_input(from, departing);
        }
    });
    for_each_move(fill.copy_arrived, [&](count_t from, count_t departing) {
        if (combined_at(departing)) {
            pull(task, {from, departing_slot(departing), 1}, false);
        } else {
            where[at(departing)] = segment_of(from).at(from);
        }
    });
    for_each_move(fill.combine_input, [&](count_t from, count_t departing) {
        add_copies(task, no_buffer, true, {from, departing_slot(departing), 1});
    });
    for_each_move(fill.combine_arrived, [&](count_t from, count_t departing) {
        pull(task, {from, departing_slot(departing), 1}, true);
    });
    section_task(i) = std::move(task);

    for (std::size_t k = 0; k < where.size();) {
        const reference& first = where[k];
        std::size_t end = k + 1;
        while (end < where.size() && where[end].buffer == first.buffer &&
               where[end].section == first.section && where[end].is_input == first.is_input &&
               where[end].slot == first.slot + static_cast<count_t>(end - k)) {
            ++end;
        }
        refer_to(first, static_cast<count_t>(end - k));
        k = end;
    }
}

void shared_memory_schedule_builder::receive_references(int stage,
                                                        const std::vector<word_message>& inbox) {
    for (std::size_t m = 0; m < work_.incoming.size(); ++m) {
        const auto& message = work_.incoming[m];
        if (!message.is_shared || message.stage != stage || message.num_items == 0) continue;
        const int source = domain_.number_of(message.peer);
        const auto found = std::find_if(inbox.begin(), inbox.end(),
                                        [&](const auto& from) { return from.peer == source; });
        count_t arrived = message.first_item;
        for (std::size_t w = 0; w < found->words.size(); w += 2) {
            const std::int64_t where = found->words[w];
            const std::int64_t run = found->words[w + 1];
            const count_t length = run & max_run_length;
            segments_[m].push_back(
                {arrived,
                 arrived + length,
                 {static_cast<int>(where >> 33), static_cast<int>(where & 0xFFFFFFFF),
                  ((where >> 32) & 1) != 0, run >> length_bits}});
            arrived += length;
        }
    }
}

count_t shared_memory_schedule_builder::own_input(const reference& where) const {
    if (where.buffer != result_.here || !where.is_input) return -1;
    return input_of_[static_cast<std::size_t>(where.slot - work_.num_arrived)];
}

void shared_memory_schedule_builder::await(schedule_task& task, const reference& where) {
    const section_reference section{where.buffer, where.section};
    if (std::find(task.awaited.rbegin(), task.awaited.rend(), section) == task.awaited.rend())
        task.awaited.push_back(section);
    if (where.buffer != result_.here) access_requests_[where.buffer].is_reader = true;
}

void shared_memory_schedule_builder::pull(schedule_task& task, move_run what, bool combines) {
    while (what.length > 0) {
        const segment& around = segment_of(what.from);
        const reference where = around.at(what.from);
        const count_t length = std::min(what.length, around.end - what.from);
        if (const count_t own = own_input(where); own >= 0) {
            for (count_t k = 0; k < length; ++k) {
                add_copies(task, no_buffer, combines,
                           {own_input(around.at(what.from + k)), what.to + k, 1});
            }
        } else {
            await(task, where);
            if (where.is_input)
                append_run(access_requests_[where.buffer].copies, where.slot, where.slot, length);
            add_copies(task, where.buffer, combines, {where.slot, what.to, length});
        }
        what = {what.from + length, what.to + length, what.length - length};
    }
}

void shared_memory_schedule_builder::request_write(std::size_t filled, const reference& where,
                                                   count_t slot, count_t length) {
    auto& part = filled_[filled].sent.part;
    if (part.counter < 0) part.counter = result_.num_counters++;
    auto& runs = access_requests_[where.buffer].writes[static_cast<int>(filled)];
    if (runs.empty()) ++part.num_contributors;
    append_run(runs, where.slot, slot, length);
}

// Makes the tasks that fill a message to another domain, and asks for what others shall write.
void shared_memory_schedule_builder::fill(std::size_t i) {
    const auto& message = work_.outgoing[i];
    auto& from = work_.fills[i];
    const count_t items_of_part = part_items(message);
    std::vector<schedule_task> tasks(
        static_cast<std::size_t>((message.num_items + items_of_part - 1) / items_of_part));
    const auto is_combined = combined_slots(from, message);
    const auto may_be_requested = [&](const reference& where, count_t departing) {
        return where.is_input && where.buffer != result_.here &&
               (is_combined.empty() ||
                !is_combined[static_cast<std::size_t>(departing - message.first_item)]);
    };
    // Calls `use(part, run)` with the runs of a list, cut where parts end.
    const auto for_each_piece = [&](const copy_list& list, auto&& use) {
        for_each_run(list, [&](move_run what) {
            while (what.length > 0) {
                const count_t part = (what.to - message.first_item) / items_of_part;
                const count_t end = message.first_item + (part + 1) * items_of_part;
                const count_t length = std::min(what.length, end - what.to);
                use(static_cast<std::size_t>(part), move_run{what.from, what.to, length});
                what = {what.from + length, what.to + length, what.length - length};
            }
        });
    };
    const auto at_place = [&](const move_run& what) {
        return move_run{what.from, departing_slot(what.to), what.length};
    };

    if (tasks.size() == 1 && is_combined.empty()) {
        add_list(tasks[0], no_buffer, 0, work_.num_arrived, std::move(from.copy_input));
    } else {
        for_each_piece(from.copy_input, [&](std::size_t part, const move_run& what) {
            add_copies(tasks[part], no_buffer, false, at_place(what));
        });
    }
    for_each_piece(from.copy_arrived, [&](std::size_t part, move_run what) {
        while (what.length > 0) {
            const segment& around = segment_of(what.from);
            const reference where = around.at(what.from);
            // Which values are combined may change from one to the next.
            const count_t length =
                is_combined.empty() ? std::min(what.length, around.end - what.from) : 1;
            if (may_be_requested(where, what.to)) {
                request_write(first_filled_of_[i] + part, where, departing_slot(what.to), length);
            } else {
                pull(tasks[part], at_place({what.from, what.to, length}), false);
            }
            what = {what.from + length, what.to + length, what.length - length};
        }
    });
    for_each_piece(from.combine_input, [&](std::size_t part, const move_run& what) {
        add_copies(tasks[part], no_buffer, true, at_place(what));
    });
    for_each_piece(from.combine_arrived, [&](std::size_t part, const move_run& what) {
        pull(tasks[part], at_place(what), true);
    });

    for (std::size_t p = 0; p < tasks.size(); ++p) {
        if (!tasks[p].steps.empty()) add_part_task(first_filled_of_[i] + p, std::move(tasks[p]));
    }
}

void shared_memory_schedule_builder::add_part_task(std::size_t filled, schedule_task task) {
    auto& [sent, sender] = filled_[filled];
    ++sent.part.num_contributors;
    task.to_buffer = result_.here;
    if (sender == result_.here) {
        task.purpose = task_purpose::own_part;
        task.number = static_cast<int>(filled);  // until the parts are in order
    } else {
        task.purpose = task_purpose::foreign_part;
        task.number = sent.part.counter;
        task.sender = sender;
    }
    part_tasks_.push_back(std::move(task));
}

void shared_memory_schedule_builder::make_output(graph_task& from) {
    if (from.combines()) {  // in its order
        schedule_task task;
        const auto from_input = [&](const copy_list& list, bool combines) {
            for_each_run(
                list, [&](const move_run& what) { add_copies(task, no_buffer, combines, what); });
        };
        const auto from_arrived = [&](const copy_list& list, bool combines) {
            for_each_run(list, [&](const move_run& what) { pull(task, what, combines); });
        };
        from_input(from.copy_input, false);
        from_arrived(from.copy_arrived, false);
        from_input(from.combine_input, true);
        from_arrived(from.combine_arrived, true);
        output_tasks_.push_back(std::move(task));
        return;
    }
    if (from.copy_input.size() > 0) {
        add_list(output_tasks_.emplace_back(), no_buffer, 0, 0, std::move(from.copy_input));
    }
    if (from.copy_arrived.size() > 0) copy_to_output(from.copy_arrived);
}

// A task for each section, so that each copies as soon as it can.
void shared_memory_schedule_builder::copy_to_output(copy_list& list) {
    const segment first = segment_of(list.from.first());
    const reference& where = first.at_first;
    if (where.buffer != result_.here && list.from.is_consecutive() &&
        list.from.first() == first.first &&
        list.size() == first.end - first.first) {  // the usual case, at no cost for each item
        auto& task = output_tasks_.emplace_back();
        await(task, where);
        if (where.is_input)
            append_run(access_requests_[where.buffer].copies, where.slot, where.slot, list.size());
        add_list(task, where.buffer, where.slot - first.first, 0, std::move(list));
        return;
    }
    std::map<std::pair<int, int>, std::size_t> task_of;
    for_each_run(list, [&](move_run what) {
        while (what.length > 0) {
            const segment& around = segment_of(what.from);
            const count_t length = std::min(what.length, around.end - what.from);
            const auto [entry, is_new] = task_of.try_emplace(
                {around.at_first.buffer, around.at_first.section}, output_tasks_.size());
            if (is_new) output_tasks_.emplace_back();
            pull(output_tasks_[entry->second], {what.from, what.to, length}, false);
            what = {what.from + length, what.to + length, what.length - length};
        }
    });
}

// Has others send the stripes that are theirs.
void shared_memory_schedule_builder::request_sends() {
    for (const auto& [sent, sender] : filled_) {
        if (sender != result_.here) access_requests_[sender].sends.push_back(sent);
    }
}

std::vector<word_message> shared_memory_schedule_builder::send_access_requests() {
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i];
        if (!message.is_shared && !message.is_in_place()) fill(i);
    }
    for (auto& output : work_.outputs) make_output(output);
    request_sends();

    const auto append_part = [](std::vector<std::int64_t>& words, const message_part& one) {
        const auto& part = one.part;
        words.insert(words.end(),
                     {one.source, one.destination, one.first, part.peer, part.stage, part.num_items,
                      part.index, part.section, part.counter, part.num_contributors});
    };
    std::vector<word_message> outbox;
    for (const auto& [buffer, wanted] : access_requests_) {
        if (wanted.is_reader) result_.owners.push_back(buffer);
        if (!wanted.sends.empty() || !wanted.receives.empty()) result_.readers.push_back(buffer);
        auto& words = outbox.emplace_back(word_message{buffer, {}}).words;
        words = {wanted.is_reader, static_cast<std::int64_t>(wanted.writes.size())};
        for (const auto& [filled, runs] : wanted.writes) {
            const auto& [sent, sender] = filled_[static_cast<std::size_t>(filled)];
            words.insert(words.end(), {sent.part.counter, sender == result_.here ? -1 : sender,
                                       static_cast<std::int64_t>(runs.size())});
            for (const auto& run : runs) words.insert(words.end(), {run.first, run.to, run.length});
        }
        for (const auto* const parts : {&wanted.sends, &wanted.receives}) {
            words.push_back(static_cast<std::int64_t>(parts->size()));
            for (const auto& one : *parts) append_part(words, one);
        }
        for (const auto& run : wanted.copies) words.insert(words.end(), {run.first, run.length});
    }
    return outbox;
}

void shared_memory_schedule_builder::receive_access_requests(
    const std::vector<word_message>& inbox) {
    const auto departing = [&](count_t slot) {
        return static_cast<std::size_t>(slot - work_.num_arrived);
    };
    for (const auto& [from, words] : inbox) {
        auto word = words.begin();
        const auto next = [&word](auto& number) {
            number = static_cast<std::remove_reference_t<decltype(number)>>(*word++);
        };
        if (*word++ != 0) result_.readers.push_back(from);
        for (auto num_counters = *word++; num_counters > 0; --num_counters) {
            schedule_task task{task_purpose::foreign_part, from, 0, -1, {}, {}};
            next(task.number);
            next(task.sender);
            for (auto num_runs = *word++; num_runs > 0; --num_runs) {
                const auto first = departing(*word++);
                const count_t to = *word++;
                const count_t length = *word++;
                auto& list = list_for(task, no_buffer, false);
                for (count_t k = 0; k < length; ++k)
                    list.append(input_of_[first + static_cast<std::size_t>(k)], to + k);
            }
            write_tasks_.push_back(std::move(task));
        }
        for (auto* const parts : {&sends_, &receives_}) {
            for (auto num_parts = *word++; num_parts > 0; --num_parts) {
                auto& one = parts->emplace_back();
                auto& part = one.part;
                next(one.source), next(one.destination), next(one.first), next(part.peer);
                next(part.stage), next(part.num_items), next(part.index), next(part.section);
                next(part.counter), next(part.num_contributors);
                part.is_stripe = true;
                part.buffer = from;
                result_.owners.push_back(from);
            }
        }
        while (word != words.end()) {
            const auto first = departing(*word++);
            const auto length = static_cast<std::size_t>(*word++);
            std::fill_n(is_requested_.begin() + static_cast<std::ptrdiff_t>(first), length, 1);
        }
    }
}

// Adds the copies of inputs that others read to the task of a message inside the domain.
void shared_memory_schedule_builder::copy_requested_inputs(std::size_t i) {
    auto& task = section_task(i);
    schedule_task copies;
    auto& list = work_.fills[i].copy_input;
    const auto& message = work_.outgoing[i];
    const auto first = is_requested_.begin() + message.first_item;
    const bool is_all_requested =
        list.size() == message.num_items &&
        std::all_of(first, first + message.num_items, [](char is) { return is != 0; });
    if (is_all_requested) {
        add_list(copies, no_buffer, 0, work_.num_arrived, std::move(list));
    } else {
        auto& some = list_for(copies, no_buffer, false);
        for_each_move(list, [&](count_t input, count_t departing) {
            if (is_requested_[static_cast<std::size_t>(departing)] != 0)
                some.append(input, departing_slot(departing));
        });
        if (some.size() == 0) copies.steps.clear();
    }
    task.steps.insert(task.steps.begin(), copies.steps.begin(), copies.steps.end());
}

// Parts between two ranks in one stage match in order: that of the messages they are of.
void shared_memory_schedule_builder::order_parts() {
    const auto key = [](const message_part& one) {
        return std::tuple(one.part.is_in_place, one.part.stage, one.part.peer, one.part.is_stripe,
                          one.source, one.destination, one.first);
    };
    const auto precedes = [&](const auto& a, const auto& b) { return key(a) < key(b); };
    std::sort(receives_.begin(), receives_.end(), precedes);
    for (const auto& one : receives_) {
        if (!one.part.is_in_place) ++result_.num_section_receives;
        result_.receives.push_back(one.part);
    }

    struct numbered_part {
        message_part sent;
        std::size_t filled;
    };
    std::vector<numbered_part> sends;
    for (std::size_t i = 0; i < filled_.size(); ++i) {
        if (filled_[i].sender == result_.here) sends.push_back({filled_[i].sent, i});
    }
    for (const auto& one : sends_) sends.push_back({one, filled_.size()});
    std::sort(sends.begin(), sends.end(),
              [&](const auto& a, const auto& b) { return precedes(a.sent, b.sent); });
    std::vector<int> number_of(filled_.size() + 1);
    for (const auto& [sent, filled] : sends) {
        number_of[filled] = static_cast<int>(result_.sends.size());
        auto& part = result_.sends.emplace_back(sent.part);
        if (result_.sends.size() == 1) continue;
        const auto& before = *(result_.sends.end() - 2);
        part.is_after_previous = before.peer == part.peer && before.stage == part.stage &&
                                 before.is_stripe == part.is_stripe;
    }
    for (auto& task : part_tasks_) {
        if (task.purpose == task_purpose::own_part)
            task.number = number_of[static_cast<std::size_t>(task.number)];
    }
}

shared_memory_schedule shared_memory_schedule_builder::finish() {
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        if (section_of_[i] >= 0 && work_.outgoing[i].num_items > 0) copy_requested_inputs(i);
    }
    order_parts();
    for (auto* const numbers : {&result_.readers, &result_.owners}) {
        std::sort(numbers->begin(), numbers->end());
        numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
    }
    for (auto* const tasks : {&part_tasks_, &write_tasks_, &section_tasks_, &output_tasks_}) {
        for (auto& task : *tasks) {
            if (!task.steps.empty()) result_.tasks.push_back(std::move(task));
        }
    }
    return std::move(result_);
}

}  // namespace crossdock
