#include "shared_memory_schedule_builder.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "schedule_wire.hpp"

namespace crossdock {

namespace {

constexpr const char* no_references = "a rank of the domain has sent no references";

bool travels_inside(const graph_message& message, int stage) {
    return message.is_shared && message.stage == stage && message.num_items > 0;
}

void sort_unique(std::vector<buffer_number>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

bool precedes(const message_part& a, const message_part& b) {
    const auto key = [](const message_part& one) {
        return std::tuple(one.part.is_in_place, one.part.stage, one.part.peer, one.part.is_stripe,
                          one.source, one.destination, one.first_item);
    };
    return key(a) < key(b);
}

// Whether two parts go to one rank with one tag.
bool match_in_order(const schedule_part& a, const schedule_part& b) {
    return a.peer == b.peer && a.stage == b.stage && a.is_stripe == b.is_stripe;
}

// Parts in sections come before those in place. Parts between two ranks in one stage match in order: that of the
// messages that they are of, which both ends know.
void order_receives(shared_memory_schedule& work, std::vector<message_part> receives) {
    std::sort(receives.begin(), receives.end(), precedes);
    for (const auto& one : receives) {
        if (!one.part.is_in_place) ++work.num_section_receives;
        work.receives.push_back(one.part);
    }
}

// As above; notes which parts must not overtake the one before them.
// @param own      of this rank's messages; those that others send are left out
// @param foreign  stripes that this rank sends for others
// @return where each part of this rank came; nothing for those that others send
index_vector<outgoing_part_number, send_number> order_sends(
    shared_memory_schedule& work, const index_vector<outgoing_part_number, outgoing_part>& own,
    const std::vector<message_part>& foreign) {
    struct send {
        message_part sent;
        std::optional<outgoing_part_number> own_number;
    };
    std::vector<send> sends;
    for (outgoing_part_number i; i < own.end_index(); ++i) {
        if (own[i].sender == work.here) sends.push_back({own[i].sent, i});
    }
    for (const auto& one : foreign) sends.push_back({one, std::nullopt});
    std::sort(sends.begin(), sends.end(),
              [](const send& a, const send& b) { return precedes(a.sent, b.sent); });

    index_vector<outgoing_part_number, send_number> number_of(own.size());
    for (const auto& [sent, own_number] : sends) {
        if (own_number) number_of[*own_number] = work.sends.end_index();
        const bool is_first = work.sends.empty();
        const bool is_after_previous = !is_first && match_in_order(work.sends.back(), sent.part);
        work.sends.push_back(sent.part);
        work.sends.back().is_after_previous = is_after_previous;
    }
    return number_of;
}

}  // namespace

shared_memory_schedule_builder::shared_memory_schedule_builder(task_graph work,
                                                               const memory_domain& domain,
                                                               count_t max_part_items,
                                                               const stripe_rule* stripes)
    : work_(std::move(work)),
      domain_(domain),
      layout_(work_, domain, max_part_items, stripes),
      inputs_(layout_.has_message_sections() ? work_.num_departing : 0),
      where_(work_.incoming),
      requests_(layout_),
      reader_(layout_, where_, requests_, inputs_),
      sections_(work_, layout_, reader_, inputs_),
      parts_(work_, layout_, reader_, requests_) {
    for (const auto& [message, receiver, received] : layout_.incoming()) {
        const auto& part = received.part;
        const bool is_own = receiver == layout_.here();
        if (is_own) {
            receives_.push_back(received);
        } else {
            requests_.receive(receiver, received);
            result_.has_foreign_receivers = true;
        }
        if (part.is_in_place) continue;
        const arrived_item first(work_.incoming[message.value()].first_item + received.first_item);
        where_.add(message, first,
                   {{layout_.here(), part.section, false, part.slot}, part.num_items});
    }
}

std::vector<rank_t> shared_memory_schedule_builder::reference_sources(int stage) const {
    std::vector<rank_t> sources;
    for (const auto& message : work_.incoming) {
        if (travels_inside(message, stage))
            sources.push_back(domain_.number_of(message.peer).value());
    }
    return sources;
}

std::vector<word_message> shared_memory_schedule_builder::send_references(int stage) {
    std::vector<word_message> to_send;
    for (outgoing_number i; i.value() < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i.value()];
        if (!travels_inside(message, stage)) continue;
        auto& to = to_send.emplace_back(word_message{domain_.number_of(message.peer).value(), {}});
        sections_.refer(i, to.words);
    }
    return to_send;
}

void shared_memory_schedule_builder::receive_references(int stage,
                                                        const std::vector<word_message>& inbox) {
    for (incoming_number m; m.value() < work_.incoming.size(); ++m) {
        const auto& message = work_.incoming[m.value()];
        if (!travels_inside(message, stage)) continue;
        const rank_t source = domain_.number_of(message.peer).value();
        const auto found = std::find_if(inbox.begin(), inbox.end(),
                                        [&](const auto& from) { return from.peer == source; });
        if (found == inbox.end()) throw error(errc::internal, no_references);
        arrived_item next(message.first_item);
        for (const auto& run : decode_references(found->words, domain_.size(), message.num_items)) {
            where_.add(m, next, run);
            next = next + run.length;
        }
    }
}

std::vector<word_message> shared_memory_schedule_builder::send_access_requests() {
    for (outgoing_number i; i.value() < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i.value()];
        if (!message.is_shared && !message.is_in_place()) parts_.fill(i);
    }
    for (auto& output : work_.outputs) fill_output(output_tasks_, output, reader_);
    for (const auto& [sender, sent] : layout_.outgoing()) {
        if (sender != layout_.here()) requests_.send(sender, sent);
    }

    std::vector<word_message> to_send;
    for (const auto& [asked, request] : requests_.take()) {
        if (request.is_reader) result_.owners.push_back(asked);
        if (!request.sends.empty() || !request.receives.empty()) result_.readers.push_back(asked);
        to_send.push_back({asked.value(), encode(request)});
    }
    return to_send;
}

void shared_memory_schedule_builder::receive_access_requests(
    const std::vector<word_message>& inbox) {
    const slot_range own_items{layout_.slot_of(departing_item()), inputs_.size()};
    for (const auto& [from, words] : inbox) {
        const buffer_number asking(from);
        const auto request = decode_access_request(words, asking, domain_.size(), own_items);
        if (request.is_reader) result_.readers.push_back(asking);
        take_writes(asking, request.writes);
        for (const auto& range : request.copies)
            inputs_.request(layout_.departing_at(range.first), range.length);
        sends_.insert(sends_.end(), request.sends.begin(), request.sends.end());
        receives_.insert(receives_.end(), request.receives.begin(), request.receives.end());
        if (!request.sends.empty() || !request.receives.empty()) result_.owners.push_back(asking);
    }
}

std::vector<std::array<std::int64_t, 2>> shared_memory_schedule_builder::send_places() {
    std::vector<std::array<std::int64_t, 2>> places(static_cast<std::size_t>(domain_.size()),
                                                    {-1, -1});
    for (outgoing_number i; i.value() < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i.value()];
        if (message.num_items == 0) continue;
        sections_.place(i);
        const buffer_number reader = domain_.number_of(message.peer);
        const departing_item first(message.first_item);
        places[static_cast<std::size_t>(reader.value())] = {layout_.section_of(i).value(),
                                                            layout_.slot_of(first).value()};
        result_.readers.push_back(reader);
    }
    return places;
}

void shared_memory_schedule_builder::receive_places(
    std::span<const std::array<std::int64_t, 2>> places) {
    for (incoming_number m; m.value() < work_.incoming.size(); ++m) {
        const auto& message = work_.incoming[m.value()];
        if (message.num_items == 0) continue;
        const buffer_number source = domain_.number_of(message.peer);
        const auto [section, slot] = places[static_cast<std::size_t>(source.value())];
        if (section < 0) throw error(errc::internal, no_references);
        where_.add(m, arrived_item(message.first_item),
                   {{source, section_number(static_cast<int>(section)), true, slot_number(slot)},
                    message.num_items});
    }
    send_access_requests();
}

// Makes the tasks that write own items into parts of another rank.
void shared_memory_schedule_builder::take_writes(buffer_number asking,
                                                 const std::vector<part_write>& writes) {
    for (const auto& [counter, sender, runs] : writes) {
        auto& task = write_tasks_.emplace_back();
        task.target = task_target::foreign_part(asking, counter, sender);
        auto& list = task.steps.emplace_back().list;
        for (const auto& run : runs) {
            const departing_item first = layout_.departing_at(run.from);
            for (count_t k = 0; k < run.length; ++k) {
                const count_t input = inputs_.input_of(first + k);
                if (input < 0)
                    throw error(errc::internal, "a rank asks for an item that does not exist");
                list.append(input, run.to.value() + k);
            }
        }
    }
}

// In the order in which they are tried: those that others wait for come first.
void shared_memory_schedule_builder::take_tasks() {
    const auto number_of = order_sends(result_, layout_.outgoing(), sends_);
    const std::size_t most = parts_.tasks().size() + write_tasks_.size() +
                             sections_.tasks().size() + output_tasks_.size();
    result_.tasks.reserve(most);
    result_.steps.reserve(most);
    const auto take = [&](task_draft& task) { std::move(task).append_to(result_); };
    for (auto& [number, task] : parts_.tasks()) {
        const auto& [sender, sent] = layout_.outgoing()[number];
        task.target = sender == layout_.here()
                          ? task_target::own_part(sender, number_of[number])
                          : task_target::foreign_part(layout_.here(), sent.part.counter, sender);
        take(task);
    }
    for (auto& task : write_tasks_) take(task);
    for (auto& task : sections_.tasks()) take(task);
    for (auto& task : output_tasks_) take(task);
}

shared_memory_schedule shared_memory_schedule_builder::finish() {
    result_.num_buffers = domain_.size();
    result_.here = layout_.here();
    result_.num_stages = work_.num_stages;
    result_.num_slots = layout_.num_slots();
    result_.num_sections = layout_.num_sections();
    result_.num_received_sections = layout_.num_received_sections();
    result_.num_counters = layout_.num_counters();
    sort_unique(result_.readers);
    sort_unique(result_.owners);
    sections_.copy_requested_inputs();
    order_receives(result_, std::move(receives_));
    take_tasks();
    return std::move(result_);
}

}  // namespace crossdock
