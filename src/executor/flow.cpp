#include "crossdock/executor/flow.hpp"

#include <algorithm>

namespace crossdock {

namespace {

bool is_only(const flow_task& task, const moves& list) {
    return task.copy_input.size() + task.copy_arrived.size() + task.combine_input.size() +
               task.combine_arrived.size() ==
           list.size();
}

// Adds messages and tasks, and notes which task waits for which message.
class flow_builder {
  public:
    void add_incoming(rank_t peer, int stage, count_t num_items) {
        result_.incoming.push_back({peer, stage, result_.num_arrived, num_items});
        result_.num_arrived += num_items;
    }

    void add_outgoing(rank_t peer, int stage, count_t num_items) {
        result_.outgoing.push_back({peer, stage, result_.num_departing, num_items});
        result_.num_departing += num_items;
    }

    // After all messages: one task per outgoing message; then those for the output.
    void add_tasks(std::size_t num_output_tasks) {
        result_.tasks.resize(result_.outgoing.size() + num_output_tasks);
        result_.successors.resize(result_.incoming.size());
    }

    flow_task& task(std::size_t i) { return result_.tasks[i]; }
    flow_task& output_task(std::size_t i) { return result_.tasks[result_.outgoing.size() + i]; }
    std::size_t output_task_index(std::size_t i) const { return result_.outgoing.size() + i; }

    // Consecutive calls for one task must come with ascending messages, to be noted once.
    void add_dependency(std::size_t task_index, std::size_t message) {
        auto& waiting = result_.successors[message];
        if (!waiting.empty() && waiting.back() == static_cast<int>(task_index)) return;
        waiting.push_back(static_cast<int>(task_index));
        ++result_.tasks[task_index].num_dependencies;
    }

    const flow_message& incoming(std::size_t i) const { return result_.incoming[i]; }

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

    flow finish() {
        send_in_place();
        receive_in_place();
        put_feeding_first();
        return std::move(result_);
    }

  private:
    void send_in_place() {
        for (std::size_t i = 0; i < result_.outgoing.size(); ++i) {
            auto& list = result_.tasks[i].copy_input;
            if (!is_only(result_.tasks[i], list) || !list.is_one_run()) continue;
            result_.outgoing[i].in_place_index = list.from.first();
            list = {};
        }
    }

    // A message all of whose items are copied to one run of the output is received there.
    void receive_in_place() {
        for (std::size_t m = 0; m < result_.incoming.size(); ++m) {
            auto& message = result_.incoming[m];
            if (result_.successors[m].size() != 1) continue;
            const auto task_index = static_cast<std::size_t>(result_.successors[m].front());
            auto& task = result_.tasks[task_index];
            auto& list = task.copy_arrived;
            if (task_index < result_.outgoing.size() || task.num_dependencies != 1) continue;
            if (!is_only(task, list) || !list.is_one_run() || list.size() != message.num_items)
                continue;
            message.in_place_index = list.to.first();
            list = {};
        }
    }

    void put_feeding_first() {
        const auto feeds = [&](std::size_t m) {
            return std::any_of(
                result_.successors[m].begin(), result_.successors[m].end(),
                [&](int task) { return static_cast<std::size_t>(task) < result_.outgoing.size(); });
        };
        std::vector<std::size_t> order;
        for (const bool wanted : {true, false}) {
            for (std::size_t m = 0; m < result_.incoming.size(); ++m) {
                if (feeds(m) == wanted) order.push_back(m);
            }
            if (wanted) result_.num_feeding = order.size();
        }
        std::vector<flow_message> incoming;
        std::vector<std::vector<int>> successors;
        for (const std::size_t m : order) {
            incoming.push_back(result_.incoming[m]);
            successors.push_back(std::move(result_.successors[m]));
        }
        result_.incoming = std::move(incoming);
        result_.successors = std::move(successors);
    }

    flow result_;
    std::size_t last_message_ = 0;
};

}  // namespace

flow forward_flow(const plan& p) {
    flow_builder builder;
    std::size_t num_incoming = 0;
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        const int stage = static_cast<int>(t);
        for (const auto& m : p.stages()[t].receives)
            builder.add_incoming(m.source, stage, m.num_items);
        for (const auto& m : p.stages()[t].sends) {
            builder.add_outgoing(m.destination, stage, static_cast<count_t>(m.positions.size()));
        }
        num_incoming += p.stages()[t].receives.size();
    }
    // Output task m delivers incoming message m; the last one delivers own items.
    builder.add_tasks(num_incoming + 1);

    std::size_t task_index = 0;
    count_t departing = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends) {
            for (const count_t position : message.positions) {
                auto& task = builder.task(task_index);
                if (position < p.num_items()) {
                    task.copy_input.append(position, departing++);
                } else {
                    const count_t arrived = position - p.num_items();
                    task.copy_arrived.append(arrived, departing++);
                    builder.add_dependency(task_index, builder.message_of(arrived));
                }
            }
            ++task_index;
        }
    }
    for (const auto& [position, slot] : p.deliveries()) {
        if (position < p.num_items()) {
            builder.output_task(num_incoming).copy_input.append(position, slot);
        } else {
            const count_t arrived = position - p.num_items();
            const std::size_t message = builder.message_of(arrived);
            builder.output_task(message).copy_arrived.append(arrived, slot);
            builder.add_dependency(builder.output_task_index(message), message);
        }
    }
    return builder.finish();
}

flow reverse_flow(const plan& p) {
    flow_builder builder;
    std::vector<std::size_t> task_of_arrived;  // by position - num_items: the message it came with
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        const int stage = static_cast<int>(t);
        for (const auto& m : p.stages()[t].sends) {
            builder.add_incoming(m.destination, stage, static_cast<count_t>(m.positions.size()));
        }
        for (const auto& m : p.stages()[t].receives) {
            builder.add_outgoing(m.source, stage, m.num_items);
        }
    }
    std::size_t num_outgoing = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& m : stage.receives) {
            task_of_arrived.insert(task_of_arrived.end(), static_cast<std::size_t>(m.num_items),
                                   num_outgoing);
            ++num_outgoing;
        }
    }
    builder.add_tasks(1);

    // A position that was received departs from the place it arrived at; own items are the output.
    std::vector<bool> has_value(static_cast<std::size_t>(p.num_positions()));
    const auto place = [&](count_t position, count_t from, moves flow_task::*copies,
                           moves flow_task::*combines) {
        if (position < p.num_items()) {
            (builder.output_task(0).*combines).append(from, position);
            return builder.output_task_index(0);
        }
        const count_t departing = position - p.num_items();
        const std::size_t task_index = task_of_arrived[static_cast<std::size_t>(departing)];
        const bool is_first = !has_value[static_cast<std::size_t>(position)];
        (builder.task(task_index).*(is_first ? copies : combines)).append(from, departing);
        has_value[static_cast<std::size_t>(position)] = true;
        return task_index;
    };
    for (const auto& [position, slot] : p.deliveries()) {
        place(position, slot, &flow_task::copy_input, &flow_task::combine_input);
    }
    count_t arrived = 0;
    std::size_t message = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& sent : stage.sends) {
            for (const count_t position : sent.positions) {
                const auto task_index = place(position, arrived++, &flow_task::copy_arrived,
                                              &flow_task::combine_arrived);
                builder.add_dependency(task_index, message);
            }
            ++message;
        }
    }
    return builder.finish();
}

}  // namespace crossdock
