#include "loggp_replay.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "dependencies.hpp"
#include "message_pairs.hpp"
#include "operation_costs.hpp"
#include "replay_parts.hpp"

namespace crossdock {

namespace {

// What operations consist of. Of those that become possible at the same moment, the first ones here are first.
enum class step : std::uint8_t { send, post, copy, receive };
constexpr std::size_t num_steps = 4;

struct step_event {
    picoseconds time;
    std::uint64_t order;  // in which steps came to be
    std::uint32_t index;  // the operation, of messages that which receives; of a retry the rank
    step what;
    bool is_retry;  // of the first one of the steps that wait

    friend bool operator>(const step_event& a, const step_event& b) {
        return std::tie(a.time, a.order) > std::tie(b.time, b.order);
    }
};

struct waiting_step {
    std::uint64_t order;
    std::uint32_t place;

    friend bool operator>(const waiting_step& a, const waiting_step& b) {
        return a.order > b.order;
    }
};

// Steps of one kind that wait until what they need is free.
struct waiting_line {
    std::priority_queue<waiting_step, std::vector<waiting_step>, std::greater<>> steps;
    picoseconds retry = 0;  // when the first one tries again
};

// When what a rank has is free.
struct rank_resources {
    picoseconds core = 0;
    picoseconds sending = 0;  // the sides of its network interface
    picoseconds receiving = 0;
    std::array<waiting_line, num_steps> lines;

    waiting_line& line_of(step what) { return lines[static_cast<std::size_t>(what)]; }

    picoseconds free_for(step what) const {
        if (what == step::send) return std::max(core, sending);
        return what == step::receive ? std::max(core, receiving) : core;
    }
};

struct message_state {
    bool is_posted = false;
    bool has_come = false;
};

struct possible_step {
    rank_t rank;
    step what;
    std::uint32_t place;
};

class loggp_replay {
  public:
    loggp_replay(const rank_layout& layout, const schedule& s, const machine& m,
                 const simulation_options& options)
        : schedule_(s),
          machine_(m),
          options_(options),
          costs_(layout, s, m),
          other_end_(pair_messages(s)),
          dependencies_(s),
          messages_(s.num_operations()),
          ranks_(static_cast<std::size_t>(s.num_ranks())),
          delays_(options.mean_noise, options.seed) {}

    simulation run() {
        for (rank_t rank = 0; rank < schedule_.num_ranks(); ++rank) {
            state_of(rank).core = start_of(options_, rank);
            shares_.idle += static_cast<double>(state_of(rank).core);
        }
        for (std::uint32_t place = 0; place < messages_.size(); ++place) {
            if (dependencies_.is_met(place)) release(place);
        }
        enqueue_possible();
        while (!events_.empty()) {
            const step_event next = events_.top();
            events_.pop();
            now_ = next.time;
            handle(next);
            enqueue_possible();
        }
        check_all_complete(num_complete_, schedule_.num_operations());
        std::vector<picoseconds> finish;
        for (const auto& state : ranks_) finish.push_back(state.core);
        return result_of(std::move(finish), shares_);
    }

  private:
    rank_resources& state_of(rank_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }
    rank_resources& state_of_rank_of(std::uint32_t place) {
        return state_of(costs_.rank_of(place));
    }

    // All that the operation requires is complete.
    void release(std::uint32_t place) {
        switch (costs_.at(place).kind) {
            case operation_kind::send:
                return allow(costs_.copying(place) > 0 ? step::copy : step::send, place);
            case operation_kind::receive: return allow(step::post, place);
            case operation_kind::copy: return allow(step::copy, place);
        }
    }

    void allow(step what, std::uint32_t place) {
        possible_.push_back({costs_.rank_of(place), what, place});
    }

    void enqueue_possible() {
        std::ranges::stable_sort(
            possible_, {}, [](const possible_step& one) { return std::tuple(one.rank, one.what); });
        for (const auto& [rank, what, place] : possible_)
            events_.push({state_of(rank).free_for(what), num_begun_++, place, what, false});
        possible_.clear();
    }

    void complete(std::uint32_t place) {
        tell_progress(options_, ++num_complete_);
        dependencies_.complete(place, [this](std::uint32_t later) { release(later); });
    }

    void handle(const step_event& e) {
        if (e.what == step::post) return post(e.index);
        if (e.is_retry) return try_first(static_cast<rank_t>(e.index), e);
        const rank_t rank = costs_.rank_of(e.index);
        auto& line = state_of(rank).line_of(e.what);
        if (state_of(rank).free_for(e.what) <= now_) return begin(e.what, e.index);
        line.steps.push({e.order, e.index});
        if (line.steps.top().order == e.order) retry_first(rank, e.what);
    }

    void retry_first(rank_t rank, step what) {
        auto& line = state_of(rank).line_of(what);
        if (line.steps.empty()) return;
        line.retry = state_of(rank).free_for(what);
        events_.push(
            {line.retry, line.steps.top().order, static_cast<std::uint32_t>(rank), what, true});
    }

    void try_first(rank_t rank, const step_event& e) {
        auto& line = state_of(rank).line_of(e.what);
        const bool is_void =
            line.steps.empty() || line.steps.top().order != e.order || line.retry != e.time;
        if (is_void) return;
        if (state_of(rank).free_for(e.what) <= now_) {
            const auto place = line.steps.top().place;
            line.steps.pop();
            begin(e.what, place);
        }
        retry_first(rank, e.what);
    }

    void begin(step what, std::uint32_t place) {
        switch (what) {
            case step::send: return send(place);
            case step::copy: return copy(place);
            case step::receive: return receive(place);
            case step::post: return;  // needs no core
        }
    }

    double& share_of(std::uint32_t place) {
        return shares_.by_level[static_cast<std::size_t>(costs_.level_of(place))];
    }

    // Keeps the core, which was free for some time, busy.
    void occupy_core(rank_resources& of, picoseconds time, double& waiting, double& working) {
        waiting += static_cast<double>(now_ - of.core);
        working += static_cast<double>(time);
        of.core = now_ + time;
    }

    void copy(std::uint32_t place) {
        const auto kind = costs_.at(place).kind;
        const auto delay = delays_.next();
        auto& state = state_of_rank_of(place);
        occupy_core(state, costs_.copying(place),
                    kind == operation_kind::receive ? share_of(place) : shares_.idle,
                    shares_.copying);
        state.core += delay;
        share_of(place) += static_cast<double>(delay);
        kind == operation_kind::send ? allow(step::send, place) : complete(place);
    }

    const level_parameters& level_of(std::uint32_t place) const {
        return machine_.at(costs_.level_of(place));
    }

    picoseconds byte_time(std::uint32_t place) const {
        const auto num_bytes = std::max<count_t>(costs_.at(place).message_bytes - 1, 0);
        return to_picoseconds(level_of(place).eager.seconds_per_byte *
                              static_cast<double>(num_bytes));
    }

    void send(std::uint32_t place) {
        auto& state = state_of_rank_of(place);
        const auto overhead =
            to_picoseconds(level_of(place).send_overhead_seconds) + delays_.next();
        occupy_core(state, overhead, shares_.idle, share_of(place));
        state.sending = now_ + options_.gap + byte_time(place);
        events_.push({now_ + overhead + costs_.eager_latency(place), num_begun_++,
                      other_end_[place], step::receive, false});
        if (!costs_.is_rendezvous(place)) complete(place);
    }

    void receive(std::uint32_t place) {
        auto& state = state_of_rank_of(place);
        const auto overhead =
            to_picoseconds(level_of(place).receive_overhead_seconds) + delays_.next();
        occupy_core(state, overhead + byte_time(place), share_of(place), share_of(place));
        state.receiving = now_ + options_.gap + byte_time(place);
        messages_[place].has_come = true;
        if (messages_[place].is_posted) match(place);
    }

    void post(std::uint32_t place) {
        messages_[place].is_posted = true;
        if (messages_[place].has_come) match(place);
    }

    void match(std::uint32_t place) {
        if (costs_.is_rendezvous(place)) finish_rendezvous(other_end_[place]);
        costs_.copying(place) > 0 ? allow(step::copy, place) : complete(place);
    }

    void finish_rendezvous(std::uint32_t send) {
        auto& sender = state_of_rank_of(send);
        if (sender.core < now_) occupy_core(sender, 0, share_of(send), share_of(send));
        sender.sending = std::max(sender.sending, now_);
        complete(send);
    }

    const schedule& schedule_;
    const machine& machine_;
    const simulation_options& options_;

    operation_costs costs_;
    std::vector<std::uint32_t> other_end_;
    dependencies dependencies_;
    std::vector<message_state> messages_;  // by the operation that receives
    std::vector<possible_step> possible_;  // since the last event
    std::vector<rank_resources> ranks_;

    std::priority_queue<step_event, std::vector<step_event>, std::greater<>> events_;
    std::uint64_t num_begun_ = 0;
    std::size_t num_complete_ = 0;
    picoseconds now_ = 0;
    time_shares shares_;
    random_delays delays_;
};

}  // namespace

simulation replay_loggp(const rank_layout& layout, const schedule& s, const machine& m,
                        const simulation_options& options) {
    if (m.num_cores > 0) {
        throw error(errc::invalid_argument,
                    "strict LogGP has a core for each rank, but those of the machine " + m.name +
                        " share cores");
    }
    return loggp_replay(layout, s, m, options).run();
}

}  // namespace crossdock
