#include "exchange_layout.hpp"

#include <algorithm>

namespace crossdock {

exchange_layout::exchange_layout(const task_graph& work, const memory_domain& domain,
                                 count_t max_part_items, const stripe_rule* stripes)
    : work_(work),
      here_(domain.here()),
      rank_(domain.rank_at(here_)),
      max_part_items_(max_part_items) {
    lay_out_incoming(domain, stripes);
    lay_out_outgoing(domain, stripes);
}

count_t exchange_layout::items_per_part(const graph_message& message) const {
    const count_t per_stripe = (message.num_items + message.num_stripes - 1) / message.num_stripes;
    return std::clamp<count_t>(per_stripe, 1, max_part_items_);
}

// Calls `use(part, at, stripe)` for each part of a message to or from another domain. The part
// begins at item `at` of the message.
template <class Use>
void exchange_layout::for_each_part(const graph_message& message, Use&& use) const {
    const count_t length = items_per_part(message);
    int stripe = 0;
    for (count_t at = 0; at < message.num_items; at += length) {
        schedule_part part;
        part.peer = message.peer;
        part.stage = message.stage;
        part.num_items = std::min(length, message.num_items - at);
        part.is_in_place = message.is_in_place();
        part.is_stripe = message.num_stripes > 1;
        part.buffer = here_;
        if (part.is_in_place) part.array_index = message.in_place_index + at;
        use(part, at, stripe);
        stripe = (stripe + 1) % message.num_stripes;
    }
}

void exchange_layout::lay_out_incoming(const memory_domain& domain, const stripe_rule* stripes) {
    for (incoming_number m; m.value() < work_.incoming.size(); ++m) {
        const auto& message = work_.incoming[m.value()];
        if (message.is_shared) continue;
        for_each_part(message, [&](schedule_part part, count_t at, int stripe) {
            buffer_number receiver = here_;
            if (part.is_stripe) {
                part.peer = stripes->sender(message.peer, stripe);
                receiver = domain.number_of(stripes->receiver(rank_, stripe));
            }
            if (!part.is_in_place) part.slot = slot_of(arrived_item(message.first_item + at));
            incoming_.push_back({m, receiver, {message.peer, rank_, at, part}});
        });
    }
    const auto number_sections = [&](auto&& is_chosen) {
        for (auto& [message, receiver, received] : incoming_) {
            if (!received.part.is_in_place && is_chosen(receiver))
                received.part.section = section_number(num_sections_++);
        }
    };
    number_sections([&](buffer_number receiver) { return receiver == here_; });
    num_received_sections_ = num_sections_;
    number_sections([&](buffer_number receiver) { return receiver != here_; });
}

void exchange_layout::lay_out_outgoing(const memory_domain& domain, const stripe_rule* stripes) {
    first_part_of_.resize(work_.outgoing.size());
    section_of_.resize(work_.outgoing.size(), no_section);
    for (outgoing_number i; i.value() < work_.outgoing.size(); ++i) {
        const auto& message = work_.outgoing[i.value()];
        if (message.is_shared) {
            section_of_[i] = section_number(num_sections_++);
            has_message_sections_ = true;
            continue;
        }
        first_part_of_[i] = outgoing_.end_index();
        for_each_part(message, [&](schedule_part part, count_t at, int stripe) {
            buffer_number sender = here_;
            if (part.is_stripe) {
                part.peer = stripes->receiver(message.peer, stripe);
                sender = domain.number_of(stripes->sender(rank_, stripe));
            }
            if (!part.is_in_place) part.slot = slot_of(departing_item(message.first_item + at));
            if (sender != here_) part.counter = counter_number(num_counters_++);
            outgoing_.push_back({sender, {rank_, message.peer, at, part}});
        });
    }
}

counter_number exchange_layout::counter_of(outgoing_part_number part) {
    auto& counter = outgoing_[part].sent.part.counter;
    if (counter == no_counter) counter = counter_number(num_counters_++);
    return counter;
}

}  // namespace crossdock
