#include "task_graph.hpp"

#include <algorithm>
#include <utility>

#include "index_appender.hpp"

namespace crossdock {

namespace {

// Collects messages and the tasks that fill them, and finds the messages that need no copy.
class task_graph_builder {
  public:
    task_graph_builder(const plan& p, const memory_domain& domain, const stripe_rule* stripes)
        : here_(p.rank()), domain_(domain), stripes_(stripes) {
        result_.num_stages = static_cast<int>(p.stages().size());
    }

    void add_incoming(rank_t peer, int stage, count_t num_items) {
        result_.incoming.push_back({peer, stage, result_.num_arrived, num_items, -1,
                                    domain_.has(peer), num_stripes(peer, here_, num_items)});
        is_forwarded_.push_back(false);
        result_.num_arrived += num_items;
    }

    void add_outgoing(rank_t peer, int stage, count_t num_items) {
        result_.outgoing.push_back({peer, stage, result_.num_departing, num_items, -1,
                                    domain_.has(peer), num_stripes(here_, peer, num_items)});
        result_.fills.emplace_back();
        result_.num_departing += num_items;
    }

    graph_task& fill(std::size_t i) { return result_.fills[i]; }

    // The arrived item after the last one of an incoming message.
    count_t end_of(std::size_t message) const {
        const auto& m = result_.incoming[message];
        return m.first_item + m.num_items;
    }
    std::size_t message_of(count_t arrived) { return finder_.message_of(arrived); }
    void note_forwarded(std::size_t message) { is_forwarded_[message] = true; }

    void add_output(graph_task task) {
        if (task.num_copies() > 0) result_.outputs.push_back(std::move(task));
    }

    // Adds the task that copies items of message m to the output. The message is received in the
    // output if the task copies all of it to one run, and nothing else reads it.
    void add_delivery(std::size_t m, graph_task task) {
        auto& message = result_.incoming[m];
        const auto& list = task.copy_arrived;
        if (may_be_in_place(message) && list.is_one_run() && list.size() == message.num_items &&
            !is_forwarded_[m]) {
            message.in_place_index = list.to.first();
        } else {
            add_output(std::move(task));
        }
    }

    task_graph finish() {
        for (std::size_t i = 0; i < result_.outgoing.size(); ++i) send_in_place(i);
        return std::move(result_);
    }

  private:
    int num_stripes(rank_t source, rank_t destination, count_t num_items) const {
        return stripes_ ? stripes_->num_stripes(source, destination, num_items) : 1;
    }

    // Other ranks read or write messages that are shared or split.
    static bool may_be_in_place(const graph_message& message) {
        return !message.is_shared && message.num_stripes == 1;
    }

    void send_in_place(std::size_t i) {
        auto& list = result_.fills[i].copy_input;
        if (!may_be_in_place(result_.outgoing[i]) || !list.is_one_run()) return;
        if (result_.fills[i].num_copies() != list.size()) return;
        result_.outgoing[i].in_place_index = list.from.first();
        list = {};
    }

    rank_t here_;
    const memory_domain& domain_;
    const stripe_rule* stripes_;
    task_graph result_;
    message_finder finder_{result_.incoming};
    std::vector<bool> is_forwarded_;  // by incoming message
};

}  // namespace

int stripe_rule::num_stripes(rank_t source, rank_t destination, count_t num_items) const {
    const region_t from = domains.region_of(source);
    const region_t to = domains.region_of(destination);
    if (from == to) return 1;
    const count_t wanted = (num_items + items_per_stripe - 1) / items_per_stripe;
    const rank_t most = std::min(domains.region_size(from), domains.region_size(to));
    return static_cast<int>(std::clamp<count_t>(wanted, 1, most));
}

rank_t stripe_rule::neighbor_of(rank_t rank, int slots) const {
    const region_t region = domains.region_of(rank);
    return domains.rank_at(region,
                           (domains.local_rank(rank) + slots) % domains.region_size(region));
}

std::size_t message_finder::message_of(count_t arrived) {
    const auto holds = [&](std::size_t m) {
        const auto& message = incoming_[m];
        return arrived >= message.first_item && arrived < message.first_item + message.num_items;
    };
    if (last_ < incoming_.size() && holds(last_)) return last_;
    const auto next = std::upper_bound(incoming_.begin(), incoming_.end(), arrived,
                                       [](count_t a, const auto& m) { return a < m.first_item; });
    last_ = static_cast<std::size_t>(next - incoming_.begin()) - 1;
    return last_;
}

task_graph forward_task_graph(const plan& p, const memory_domain& domain,
                              const stripe_rule* stripes) {
    task_graph_builder builder(p, domain, stripes);
    std::size_t num_incoming = 0;
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        const int stage = static_cast<int>(t);
        for (const auto& m : p.stages()[t].receives) {
            builder.add_incoming(m.source, stage, m.num_items);
        }
        for (const auto& m : p.stages()[t].sends) {
            builder.add_outgoing(m.destination, stage, static_cast<count_t>(m.positions.size()));
        }
        num_incoming += p.stages()[t].receives.size();
    }

    std::size_t message = 0;
    count_t departing = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& sent : stage.sends) {
            auto& fill = builder.fill(message++);
            const auto end = sent.positions.end();
            for (auto next = sent.positions.begin(); next != end;) {
                const bool is_own = *next < p.num_items();
                // Nothing has arrived before the first stage.
                const auto last = &stage == p.stages().data()
                                      ? end
                                      : std::find_if(next, end, [&](count_t position) {
                                            return (position < p.num_items()) != is_own;
                                        });
                const count_t num = last - next;
                const count_t first_position = is_own ? 0 : p.num_items();
                auto& list = is_own ? fill.copy_input : fill.copy_arrived;
                index_appender(list.from).append_all(
                    num, [&](count_t i) { return next[i] - first_position; });
                index_appender(list.to).append_run(departing, num);
                departing += num;
                for (; next != last; ++next) {
                    if (!is_own) builder.note_forwarded(builder.message_of(*next - first_position));
                }
            }
        }
    }

    graph_task own_items;
    std::vector<graph_task> from_message(num_incoming);
    // Deliveries ascend by position, as messages do.
    auto next = p.deliveries().begin();
    const auto take_up_to = [&](count_t end, count_t first_position, copy_list& list) {
        const auto last = std::partition_point(next, p.deliveries().end(),
                                               [&](const auto& one) { return one.position < end; });
        index_appender(list.from).append_all(
            last - next, [&](count_t i) { return next[i].position - first_position; });
        index_appender(list.to).append_all(last - next, [&](count_t i) { return next[i].slot; });
        next = last;
    };
    take_up_to(p.num_items(), 0, own_items.copy_input);
    for (std::size_t m = 0; m < num_incoming; ++m) {
        take_up_to(p.num_items() + builder.end_of(m), p.num_items(), from_message[m].copy_arrived);
    }
    builder.add_output(std::move(own_items));
    for (std::size_t m = 0; m < num_incoming; ++m) {
        builder.add_delivery(m, std::move(from_message[m]));
    }
    return builder.finish();
}

task_graph reverse_task_graph(const plan& p, const memory_domain& domain,
                              const stripe_rule* stripes) {
    task_graph_builder builder(p, domain, stripes);
    std::vector<std::size_t> fill_of_arrived;  // by position - num_items: the message it came with
    std::size_t num_outgoing = 0;
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        const int stage = static_cast<int>(p.stages().size() - 1 - t);
        for (const auto& m : p.stages()[t].sends) {
            builder.add_incoming(m.destination, stage, static_cast<count_t>(m.positions.size()));
        }
        for (const auto& m : p.stages()[t].receives) {
            builder.add_outgoing(m.source, stage, m.num_items);
            fill_of_arrived.insert(fill_of_arrived.end(), static_cast<std::size_t>(m.num_items),
                                   num_outgoing++);
        }
    }

    // In reverse, a received position is a departing item, and an own item is an output.
    graph_task output;
    std::vector<bool> has_value(static_cast<std::size_t>(p.num_positions()));
    const auto list_for = [&](count_t position, copy_list graph_task::*copies,
                              copy_list graph_task::*combines) -> copy_list& {
        if (position < p.num_items()) return output.*combines;
        auto& fill =
            builder.fill(fill_of_arrived[static_cast<std::size_t>(position - p.num_items())]);
        const bool is_first = !has_value[static_cast<std::size_t>(position)];
        has_value[static_cast<std::size_t>(position)] = true;
        return fill.*(is_first ? copies : combines);
    };
    const auto index_of = [&](count_t position) {
        return position < p.num_items() ? position : position - p.num_items();
    };
    for (const auto& [position, slot] : p.deliveries()) {
        list_for(position, &graph_task::copy_input, &graph_task::combine_input)
            .append(slot, index_of(position));
    }
    // Own items that came back, with the rank that each is from; in the order of the ranks on any route.
    std::vector<std::pair<rank_t, std::pair<count_t, count_t>>> returned;
    auto destination = p.item_destinations().begin();
    count_t arrived = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& sent : stage.sends) {
            for (const count_t position : sent.positions) {
                if (position < p.num_items() && !p.item_destinations().empty()) {
                    returned.push_back({*destination++, {arrived++, position}});
                } else {
                    list_for(position, &graph_task::copy_arrived, &graph_task::combine_arrived)
                        .append(arrived++, index_of(position));
                }
            }
        }
    }
    std::ranges::stable_sort(returned, {}, [](const auto& one) { return one.first; });
    for (const auto& [rank, move] : returned)
        output.combine_arrived.append(move.first, move.second);
    builder.add_output(std::move(output));
    return builder.finish();
}

}  // namespace crossdock
