#include "crossdock/executor/circuit_compiler.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace crossdock {

// References are runs of two words each: block, whether it is an input, section; place, length.
// Claims are: whether this rank reads; the number of gates; for each its number, the sender, the
// number of runs, and three words for each run; the parts to be sent and those to be received, each
// after their number; then two words for each run that is to be copied.

namespace {

constexpr int length_bits = 24;
constexpr count_t max_run_length = (count_t{1} << length_bits) - 1;

std::int64_t pack_where(int block, bool is_input, int section) {
    return (std::int64_t{block} << 33) | (std::int64_t{is_input} << 32) | section;
}

// Calls `use(from, to)` for every pair of a list, in order.
template <class Use>
void for_each_move(const moves& list, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size(); ++k) use(from(k), to(k));
        });
    });
}

// Calls `use` for every run of a list, in order.
template <class Use>
void for_each_run(const moves& list, Use&& use) {
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

moves& list_for(circuit_task& task, int from_block, bool combines) {
    auto step = task.steps.end();
    if (!task.steps.empty()) {
        const auto fits = [&](const circuit_step& s) {
            return s.from_block == from_block && s.combines == combines && s.from_offset == 0 &&
                   s.to_offset == 0;
        };
        if (fits(task.steps.back())) {
            step = task.steps.end() - 1;
        } else if (!combines) {  // copies go to places of their own, in any order
            step = std::find_if(task.steps.begin(), task.steps.end(), fits);
        }
    }
    if (step == task.steps.end()) {
        step = task.steps.insert(step, {from_block, 0, 0, combines, {}});
    }
    return step->list;
}

void add_moves(circuit_task& task, int from_block, bool combines, const move_run& what) {
    auto& list = list_for(task, from_block, combines);
    for (count_t k = 0; k < what.length; ++k) list.append(what.from + k, what.to + k);
}

void add_list(circuit_task& task, int from_block, count_t from_offset, count_t to_offset,
              moves list) {
    if (list.size() == 0) return;
    task.steps.push_back({from_block, from_offset, to_offset, false, std::move(list)});
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

circuit_compiler::circuit_compiler(flow work, const memory_domain& domain, count_t max_part_items,
                                   const lane_rule* lanes)
    : work_(std::move(work)),
      domain_(domain),
      max_part_items_(max_part_items),
      lanes_(lanes),
      finder_(work_.incoming) {
    result_.num_blocks = domain.size();
    result_.here = domain.here();
    result_.num_stages = work_.num_stages;
    result_.num_places = work_.num_arrived + work_.num_departing;
    segments_.resize(work_.incoming.size());
    lay_out_receives();
    lay_out_sends();
}

count_t circuit_compiler::part_items(const flow_message& message) const {
    const count_t per_lane = (message.num_items + message.num_lanes - 1) / message.num_lanes;
    return std::clamp<count_t>(per_lane, 1, max_part_items_);
}

// Calls `use(part, at, lane)` for each part of a message to another domain, from its item `at`.
template <class Use>
void circuit_compiler::for_each_part(const flow_message& message, Use&& use) const {
    const count_t length = part_items(message);
    int lane = 0;
    for (count_t at = 0; at < message.num_items; at += length) {
        use(circuit_part{message.peer, message.stage, std::min(length, message.num_items - at),
                         message.is_in_place(), message.num_lanes > 1, result_.here},
            at, lane);
        lane = (lane + 1) % message.num_lanes;
    }
}

// Sections that this rank receives come first.
void circuit_compiler::lay_out_receives() {
    const rank_t here = domain_.rank_at(result_.here);
    const auto for_each_received = [&](auto&& use) {
        for (std::size_t m = 0; m < work_.incoming.size(); ++m) {
            const auto& message = work_.incoming[m];
            if (message.is_shared) continue;
            for_each_part(message, [&](circuit_part part, count_t at, int lane) {
                rank_t receiver = here;
                if (part.is_lane) {
                    part.peer = lanes_->sender(message.peer, lane);
                    receiver = lanes_->receiver(here, lane);
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
        claims_[receiver].receives.push_back(one);
        result_.has_foreign_receivers = true;
    });
    for (auto& segments : segments_) {
        std::sort(segments.begin(), segments.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
    }
}

void circuit_compiler::lay_out_sends() {
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
        for_each_part(message, [&](circuit_part part, count_t at, int lane) {
            int sender = result_.here;
            if (part.is_lane) {
                part.peer = lanes_->receiver(message.peer, lane);
                sender = domain_.number_of(lanes_->sender(here, lane));
            }
            part.index = part.is_in_place ? message.in_place_index + at
                                          : departing_place(message.first_item + at);
            if (sender != result_.here) part.gate = result_.num_gates++;
            filled_.push_back({{here, message.peer, at, part}, sender});
        });
    }
    if (result_.num_sections > first_message_section_) {
        section_tasks_.resize(
            static_cast<std::size_t>(result_.num_sections - first_message_section_));
        input_of_.assign(static_cast<std::size_t>(work_.num_departing), -1);
        is_claimed_.assign(static_cast<std::size_t>(work_.num_departing), 0);
    }
}

const circuit_compiler::segment& circuit_compiler::segment_of(count_t arrived) {
    if (last_segment_.holds(arrived)) return last_segment_;
    const auto& segments = segments_[finder_.message_of(arrived)];
    const auto after =
        std::upper_bound(segments.begin(), segments.end(), arrived,
                         [](count_t item, const segment& s) { return item < s.first; });
    return last_segment_ = *(after - 1);
}

std::vector<int> circuit_compiler::reference_sources(int stage) const {
    std::vector<int> sources;
    for (const auto& message : work_.incoming) {
        if (message.is_shared && message.stage == stage && message.num_items > 0)
            sources.push_back(domain_.number_of(message.peer));
    }
    return sources;
}

std::vector<word_message> circuit_compiler::send_references(int stage) {
    std::vector<word_message> outbox;
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i];
        if (!message.is_shared || message.stage != stage || message.num_items == 0) continue;
        refer(i, outbox.emplace_back(word_message{domain_.number_of(message.peer), {}}));
    }
    return outbox;
}

// By departing item of the message, whether several values go there.
std::vector<bool> circuit_compiler::combined_places(const flow_task& task,
                                                    const flow_message& message) const {
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

void circuit_compiler::refer(std::size_t i, word_message& to) {
    const auto& message = work_.outgoing[i];
    auto& fill = work_.fills[i];
    circuit_task task{task_purpose::section, result_.here, section_of_[i], -1, {}, {}};
    const auto note_input = [&](count_t from, count_t departing) {
        input_of_[static_cast<std::size_t>(departing)] = from;
    };
    const auto refer_to = [&](const reference& first, count_t length) {
        for (count_t done = 0; done < length; done += max_run_length) {
            to.words.push_back(pack_where(first.block, first.is_input, first.section));
            to.words.push_back(((first.place + done) << length_bits) |
                               std::min(max_run_length, length - done));
        }
    };
    if (fill.copy_input.size() == fill.num_moves()) {
        for_each_move(fill.copy_input, note_input);
        refer_to({result_.here, section_of_[i], true, departing_place(message.first_item)},
                 message.num_items);
        section_task(i) = std::move(task);
        return;
    }

    const auto is_combined = combined_places(fill, message);
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
                                departing_place(departing)};
    }
    for_each_move(fill.copy_input, [&](count_t from, count_t departing) {
        if (combined_at(departing)) {
            add_moves(task, no_block, false, {from, departing_place(departing), 1});
        } else {
            note_input(from, departing);
        }
    });
    for_each_move(fill.copy_arrived, [&](count_t from, count_t departing) {
        if (combined_at(departing)) {
            pull(task, {from, departing_place(departing), 1}, false);
        } else {
            where[at(departing)] = segment_of(from).at(from);
        }
    });
    for_each_move(fill.combine_input, [&](count_t from, count_t departing) {
        add_moves(task, no_block, true, {from, departing_place(departing), 1});
    });
    for_each_move(fill.combine_arrived, [&](count_t from, count_t departing) {
        pull(task, {from, departing_place(departing), 1}, true);
    });
    section_task(i) = std::move(task);

    for (std::size_t k = 0; k < where.size();) {
        const reference& first = where[k];
        std::size_t end = k + 1;
        while (end < where.size() && where[end].block == first.block &&
               where[end].section == first.section && where[end].is_input == first.is_input &&
               where[end].place == first.place + static_cast<count_t>(end - k)) {
            ++end;
        }
        refer_to(first, static_cast<count_t>(end - k));
        k = end;
    }
}

void circuit_compiler::receive_references(int stage, const std::vector<word_message>& inbox) {
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

count_t circuit_compiler::own_input(const reference& where) const {
    if (where.block != result_.here || !where.is_input) return -1;
    return input_of_[static_cast<std::size_t>(where.place - work_.num_arrived)];
}

void circuit_compiler::await(circuit_task& task, const reference& where) {
    const section_reference section{where.block, where.section};
    if (std::find(task.awaited.rbegin(), task.awaited.rend(), section) == task.awaited.rend())
        task.awaited.push_back(section);
    if (where.block != result_.here) claims_[where.block].is_reader = true;
}

void circuit_compiler::pull(circuit_task& task, move_run what, bool combines) {
    while (what.length > 0) {
        const segment& around = segment_of(what.from);
        const reference where = around.at(what.from);
        const count_t length = std::min(what.length, around.end - what.from);
        if (const count_t own = own_input(where); own >= 0) {
            for (count_t k = 0; k < length; ++k) {
                add_moves(task, no_block, combines,
                          {own_input(around.at(what.from + k)), what.to + k, 1});
            }
        } else {
            await(task, where);
            if (where.is_input)
                append_run(claims_[where.block].copies, where.place, where.place, length);
            add_moves(task, where.block, combines, {where.place, what.to, length});
        }
        what = {what.from + length, what.to + length, what.length - length};
    }
}

void circuit_compiler::claim_write(std::size_t filled, const reference& where, count_t place,
                                   count_t length) {
    auto& part = filled_[filled].sent.part;
    if (part.gate < 0) part.gate = result_.num_gates++;
    auto& runs = claims_[where.block].writes[static_cast<int>(filled)];
    if (runs.empty()) ++part.num_contributors;
    append_run(runs, where.place, place, length);
}

// Makes the tasks that fill a message to another domain, and claims what others shall write.
void circuit_compiler::fill(std::size_t i) {
    const auto& message = work_.outgoing[i];
    auto& from = work_.fills[i];
    const count_t items_of_part = part_items(message);
    std::vector<circuit_task> tasks(
        static_cast<std::size_t>((message.num_items + items_of_part - 1) / items_of_part));
    const auto is_combined = combined_places(from, message);
    const auto may_be_claimed = [&](const reference& where, count_t departing) {
        return where.is_input && where.block != result_.here &&
               (is_combined.empty() ||
                !is_combined[static_cast<std::size_t>(departing - message.first_item)]);
    };
    // Calls `use(part, run)` with the runs of a list, cut where parts end.
    const auto for_each_piece = [&](const moves& list, auto&& use) {
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
        return move_run{what.from, departing_place(what.to), what.length};
    };

    if (tasks.size() == 1 && is_combined.empty()) {
        add_list(tasks[0], no_block, 0, work_.num_arrived, std::move(from.copy_input));
    } else {
        for_each_piece(from.copy_input, [&](std::size_t part, const move_run& what) {
            add_moves(tasks[part], no_block, false, at_place(what));
        });
    }
    for_each_piece(from.copy_arrived, [&](std::size_t part, move_run what) {
        while (what.length > 0) {
            const segment& around = segment_of(what.from);
            const reference where = around.at(what.from);
            // Which values are combined may change from one to the next.
            const count_t length =
                is_combined.empty() ? std::min(what.length, around.end - what.from) : 1;
            if (may_be_claimed(where, what.to)) {
                claim_write(first_filled_of_[i] + part, where, departing_place(what.to), length);
            } else {
                pull(tasks[part], at_place({what.from, what.to, length}), false);
            }
            what = {what.from + length, what.to + length, what.length - length};
        }
    });
    for_each_piece(from.combine_input, [&](std::size_t part, const move_run& what) {
        add_moves(tasks[part], no_block, true, at_place(what));
    });
    for_each_piece(from.combine_arrived, [&](std::size_t part, const move_run& what) {
        pull(tasks[part], at_place(what), true);
    });

    for (std::size_t p = 0; p < tasks.size(); ++p) {
        if (!tasks[p].steps.empty()) add_part_task(first_filled_of_[i] + p, std::move(tasks[p]));
    }
}

void circuit_compiler::add_part_task(std::size_t filled, circuit_task task) {
    auto& [sent, sender] = filled_[filled];
    ++sent.part.num_contributors;
    task.to_block = result_.here;
    if (sender == result_.here) {
        task.purpose = task_purpose::own_part;
        task.number = static_cast<int>(filled);  // until the parts are in order
    } else {
        task.purpose = task_purpose::foreign_part;
        task.number = sent.part.gate;
        task.sender = sender;
    }
    part_tasks_.push_back(std::move(task));
}

void circuit_compiler::make_output(flow_task& from) {
    if (from.combines()) {  // in its order
        circuit_task task;
        const auto from_input = [&](const moves& list, bool combines) {
            for_each_run(list,
                         [&](const move_run& what) { add_moves(task, no_block, combines, what); });
        };
        const auto from_arrived = [&](const moves& list, bool combines) {
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
        add_list(output_tasks_.emplace_back(), no_block, 0, 0, std::move(from.copy_input));
    }
    if (from.copy_arrived.size() > 0) copy_to_output(from.copy_arrived);
}

// A task for each section, so that each copies as soon as it can.
void circuit_compiler::copy_to_output(moves& list) {
    const segment first = segment_of(list.from.first());
    const reference& where = first.at_first;
    if (where.block != result_.here && list.from.is_consecutive() &&
        list.from.first() == first.first &&
        list.size() == first.end - first.first) {  // the usual case, at no cost for each item
        auto& task = output_tasks_.emplace_back();
        await(task, where);
        if (where.is_input)
            append_run(claims_[where.block].copies, where.place, where.place, list.size());
        add_list(task, where.block, where.place - first.first, 0, std::move(list));
        return;
    }
    std::map<std::pair<int, int>, std::size_t> task_of;
    for_each_run(list, [&](move_run what) {
        while (what.length > 0) {
            const segment& around = segment_of(what.from);
            const count_t length = std::min(what.length, around.end - what.from);
            const auto [entry, is_new] = task_of.try_emplace(
                {around.at_first.block, around.at_first.section}, output_tasks_.size());
            if (is_new) output_tasks_.emplace_back();
            pull(output_tasks_[entry->second], {what.from, what.to, length}, false);
            what = {what.from + length, what.to + length, what.length - length};
        }
    });
}

// Has others send the lanes that are theirs.
void circuit_compiler::claim_sends() {
    for (const auto& [sent, sender] : filled_) {
        if (sender != result_.here) claims_[sender].sends.push_back(sent);
    }
}

std::vector<word_message> circuit_compiler::send_claims() {
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i];
        if (!message.is_shared && !message.is_in_place()) fill(i);
    }
    for (auto& output : work_.outputs) make_output(output);
    claim_sends();

    const auto append_part = [](std::vector<std::int64_t>& words, const message_part& one) {
        const auto& part = one.part;
        words.insert(words.end(),
                     {one.source, one.destination, one.first, part.peer, part.stage, part.num_items,
                      part.index, part.section, part.gate, part.num_contributors});
    };
    std::vector<word_message> outbox;
    for (const auto& [block, wanted] : claims_) {
        if (wanted.is_reader) result_.owners.push_back(block);
        if (!wanted.sends.empty() || !wanted.receives.empty()) result_.readers.push_back(block);
        auto& words = outbox.emplace_back(word_message{block, {}}).words;
        words = {wanted.is_reader, static_cast<std::int64_t>(wanted.writes.size())};
        for (const auto& [filled, runs] : wanted.writes) {
            const auto& [sent, sender] = filled_[static_cast<std::size_t>(filled)];
            words.insert(words.end(), {sent.part.gate, sender == result_.here ? -1 : sender,
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

void circuit_compiler::receive_claims(const std::vector<word_message>& inbox) {
    const auto departing = [&](count_t place) {
        return static_cast<std::size_t>(place - work_.num_arrived);
    };
    for (const auto& [from, words] : inbox) {
        auto word = words.begin();
        const auto next = [&word](auto& number) {
            number = static_cast<std::remove_reference_t<decltype(number)>>(*word++);
        };
        if (*word++ != 0) result_.readers.push_back(from);
        for (auto num_gates = *word++; num_gates > 0; --num_gates) {
            circuit_task task{task_purpose::foreign_part, from, 0, -1, {}, {}};
            next(task.number);
            next(task.sender);
            for (auto num_runs = *word++; num_runs > 0; --num_runs) {
                const auto first = departing(*word++);
                const count_t to = *word++;
                const count_t length = *word++;
                auto& list = list_for(task, no_block, false);
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
                next(part.gate), next(part.num_contributors);
                part.is_lane = true;
                part.block = from;
                result_.owners.push_back(from);
            }
        }
        while (word != words.end()) {
            const auto first = departing(*word++);
            const auto length = static_cast<std::size_t>(*word++);
            std::fill_n(is_claimed_.begin() + static_cast<std::ptrdiff_t>(first), length, 1);
        }
    }
}

// Adds the copies of inputs that others read to the task of a message inside the domain.
void circuit_compiler::copy_claimed_inputs(std::size_t i) {
    auto& task = section_task(i);
    circuit_task copies;
    auto& list = work_.fills[i].copy_input;
    const auto& message = work_.outgoing[i];
    const auto first = is_claimed_.begin() + message.first_item;
    const bool is_all_claimed =
        list.size() == message.num_items &&
        std::all_of(first, first + message.num_items, [](char is) { return is != 0; });
    if (is_all_claimed) {
        add_list(copies, no_block, 0, work_.num_arrived, std::move(list));
    } else {
        auto& some = list_for(copies, no_block, false);
        for_each_move(list, [&](count_t input, count_t departing) {
            if (is_claimed_[static_cast<std::size_t>(departing)] != 0)
                some.append(input, departing_place(departing));
        });
        if (some.size() == 0) copies.steps.clear();
    }
    task.steps.insert(task.steps.begin(), copies.steps.begin(), copies.steps.end());
}

// Parts between two ranks in one stage match in order: that of the messages they are of.
void circuit_compiler::order_parts() {
    const auto key = [](const message_part& one) {
        return std::tuple(one.part.is_in_place, one.part.stage, one.part.peer, one.part.is_lane,
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
                                 before.is_lane == part.is_lane;
    }
    for (auto& task : part_tasks_) {
        if (task.purpose == task_purpose::own_part)
            task.number = number_of[static_cast<std::size_t>(task.number)];
    }
}

circuit circuit_compiler::finish() {
    for (std::size_t i = 0; i < work_.outgoing.size(); ++i) {
        if (section_of_[i] >= 0 && work_.outgoing[i].num_items > 0) copy_claimed_inputs(i);
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
