#include "crossdock/executor/flow.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace crossdock {

namespace {

// Adds messages and what fills them, and notes which fill waits for which message.
class flow_builder {
  public:
    void add_incoming(rank_t peer, int stage, count_t num_items) {
        result_.incoming.push_back({peer, stage, result_.num_arrived, num_items});
        result_.successors.emplace_back();
        result_.num_arrived += num_items;
    }

    void add_outgoing(rank_t peer, int stage, count_t num_items) {
        result_.outgoing.push_back({peer, stage, result_.num_departing, num_items});
        result_.fills.emplace_back();
        last_feeding_.push_back(no_message);
        result_.num_departing += num_items;
    }

    flow_task& fill(std::size_t i) { return result_.fills[i]; }

    // Calls for one fill, or for one message, must come together, so that each pair is noted once.
    void add_dependency(std::size_t fill, std::size_t message) {
        auto& waiting = result_.successors[message];
        if (!waiting.empty() && waiting.back() == static_cast<int>(fill)) return;
        if (std::exchange(last_feeding_[fill], message) == message) return;
        waiting.push_back(static_cast<int>(fill));
        ++result_.fills[fill].num_dependencies;
    }

    // The incoming message that an arrived item is in; the last answer is tried first.
    std::size_t message_of(count_t arrived) {
        const auto holds = [&](std::size_t m) {
            const auto& message = result_.incoming[m];
            return arrived >= message.first_item &&
                   arrived < message.first_item + message.num_items;
        };
        if (last_message_ < result_.incoming.size() && holds(last_message_)) return last_message_;
        const auto next =
            std::upper_bound(result_.incoming.begin(), result_.incoming.end(), arrived,
                             [](count_t a, const auto& m) { return a < m.first_item; });
        last_message_ = static_cast<std::size_t>(next - result_.incoming.begin()) - 1;
        return last_message_;
    }

    void add_early_output(flow_task task) {
        if (!is_empty(task)) result_.early_outputs.push_back(std::move(task));
    }

    void add_late_output(flow_task task) {
        if (!is_empty(task)) result_.late_outputs.push_back(std::move(task));
    }

    // What is copied from message m to the output. If that is all of the message, to one run, and
    // nothing else reads the message, then it is received there.
    void add_delivery(std::size_t m, flow_task task) {
        auto& message = result_.incoming[m];
        const auto& list = task.copy_arrived;
        if (list.is_one_run() && list.size() == message.num_items &&
            result_.successors[m].empty()) {
            message.in_place_index = list.to.first();
        } else {
            add_late_output(std::move(task));
        }
    }

    flow finish() {
        send_in_place();
        put_feeding_first();
        return std::move(result_);
    }

  private:
    static count_t num_moves(const flow_task& task) {
        return task.copy_input.size() + task.copy_arrived.size() + task.combine_input.size() +
               task.combine_arrived.size();
    }
    static bool is_empty(const flow_task& task) { return num_moves(task) == 0; }

    void send_in_place() {
        for (std::size_t i = 0; i < result_.outgoing.size(); ++i) {
            auto& list = result_.fills[i].copy_input;
            if (num_moves(result_.fills[i]) != list.size() || !list.is_one_run()) continue;
            result_.outgoing[i].in_place_index = list.from.first();
            list = {};
        }
    }

    void put_feeding_first() {
        std::vector<std::size_t> order(result_.incoming.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto end_of_feeding = std::stable_partition(
            order.begin(), order.end(), [&](auto m) { return !result_.successors[m].empty(); });
        result_.num_feeding = static_cast<std::size_t>(end_of_feeding - order.begin());
        std::vector<flow_message> incoming;
        std::vector<std::vector<int>> successors;
        for (const std::size_t m : order) {
            incoming.push_back(result_.incoming[m]);
            successors.push_back(std::move(result_.successors[m]));
        }
        successors.resize(result_.num_feeding);
        result_.incoming = std::move(incoming);
        result_.successors = std::move(successors);
    }

    static constexpr std::size_t no_message = std::numeric_limits<std::size_t>::max();

    flow result_;
    std::vector<std::size_t> last_feeding_;  // by fill, the message it was last found to wait for
    std::size_t last_message_ = 0;
};

}  // namespace

flow forward_flow(const plan& p) {
    flow_builder builder;
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
            auto& fill = builder.fill(message);
            for (const count_t position : sent.positions) {
                if (position < p.num_items()) {
                    fill.copy_input.append(position, departing++);
                } else {
                    const count_t arrived = position - p.num_items();
                    fill.copy_arrived.append(arrived, departing++);
                    builder.add_dependency(message, builder.message_of(arrived));
                }
            }
            ++message;
        }
    }

    flow_task own_items;
    std::vector<flow_task> from_message(num_incoming);
    for (const auto& [position, slot] : p.deliveries()) {
        if (position < p.num_items()) {
            own_items.copy_input.append(position, slot);
        } else {
            const count_t arrived = position - p.num_items();
            from_message[builder.message_of(arrived)].copy_arrived.append(arrived, slot);
        }
    }
    builder.add_early_output(std::move(own_items));
    for (std::size_t m = 0; m < num_incoming; ++m) {
        builder.add_delivery(m, std::move(from_message[m]));
    }
    return builder.finish();
}

flow reverse_flow(const plan& p) {
    flow_builder builder;
    std::vector<std::size_t> fill_of_arrived;  // by position - num_items: the message it came with
    std::size_t num_outgoing = 0;
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        const int stage = static_cast<int>(t);
        for (const auto& m : p.stages()[t].sends) {
            builder.add_incoming(m.destination, stage, static_cast<count_t>(m.positions.size()));
        }
        for (const auto& m : p.stages()[t].receives) {
            builder.add_outgoing(m.source, stage, m.num_items);
            fill_of_arrived.insert(fill_of_arrived.end(), static_cast<std::size_t>(m.num_items),
                                   num_outgoing++);
        }
    }

    // A position that was received departs from the place it arrived at; own items are the output.
    flow_task output;
    std::vector<bool> has_value(static_cast<std::size_t>(p.num_positions()));
    const auto list_for = [&](count_t position, moves flow_task::*copies,
                              moves flow_task::*combines) -> moves& {
        if (position < p.num_items()) return output.*combines;
        auto& fill =
            builder.fill(fill_of_arrived[static_cast<std::size_t>(position - p.num_items())]);
        const bool is_first = !has_value[static_cast<std::size_t>(position)];
        has_value[static_cast<std::size_t>(position)] = true;
        return fill.*(is_first ? copies : combines);
    };
    const auto place_of = [&](count_t position) {
        return position < p.num_items() ? position : position - p.num_items();
    };
    for (const auto& [position, slot] : p.deliveries()) {
        list_for(position, &flow_task::copy_input, &flow_task::combine_input)
            .append(slot, place_of(position));
    }
    count_t arrived = 0;
    std::size_t message = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& sent : stage.sends) {
            for (const count_t position : sent.positions) {
                list_for(position, &flow_task::copy_arrived, &flow_task::combine_arrived)
                    .append(arrived++, place_of(position));
                if (position < p.num_items()) continue;
                builder.add_dependency(
                    fill_of_arrived[static_cast<std::size_t>(position - p.num_items())], message);
            }
            ++message;
        }
    }
    builder.add_late_output(std::move(output));
    return builder.finish();
}

}  // namespace crossdock
