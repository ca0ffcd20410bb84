#include "crossdock/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>

#include "dependencies.hpp"
#include "links.hpp"
#include "loggp_replay.hpp"
#include "message_matching.hpp"
#include "message_pairs.hpp"
#include "operation_costs.hpp"
#include "replay_parts.hpp"
#include "shared_cores.hpp"

namespace crossdock {

namespace {

enum class event_kind : std::uint8_t {
    rank_starts,
    slice_comes,    // of a rank, on a shared core
    core_is_done,   // of a rank
    request_comes,  // of a rendezvous, at the receiver
    head_comes,     // the first byte of a message
    tail_comes,     // all of it
};

struct event {
    picoseconds time;
    std::uint64_t order;  // of events of the same time
    std::uint32_t index;  // a rank, or the operation that receives
    event_kind kind;

    friend bool operator>(const event& a, const event& b) {
        return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
};

struct rank_state {
    std::deque<std::uint32_t> ready;  // operations, over all ranks
    std::uint32_t current = 0;
    bool is_busy = false;
    picoseconds idle_since = 0;
    picoseconds finish = 0;
};

class replay {
  public:
    replay(const rank_layout& layout, const schedule& s, const machine& m,
           const simulation_options& options)
        : schedule_(s),
          machine_(m),
          options_(options),
          costs_(layout, s, m),
          other_end_(pair_messages(s)),
          dependencies_(s),
          matching_(s),
          ranks_(static_cast<std::size_t>(s.num_ranks())),
          links_(layout.nodes()),
          cores_(m.num_cores, s.num_ranks(), to_picoseconds(m.time_slice_seconds)),
          delays_(options.mean_noise, options.seed) {}

    simulation run() {
        for (rank_t rank = 0; rank < schedule_.num_ranks(); ++rank)
            push(start_of(options_, rank), event_kind::rank_starts,
                 static_cast<std::uint32_t>(rank));
        while (!events_.empty()) {
            const event next = events_.top();
            events_.pop();
            now_ = next.time;
            handle(next);
        }
        check_all_complete(num_complete_, schedule_.num_operations());
        std::vector<picoseconds> finish;
        for (const auto& state : ranks_) finish.push_back(state.finish);
        return result_of(std::move(finish), shares_);
    }

  private:
    rank_state& state_of(rank_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    void push(picoseconds time, event_kind kind, std::uint32_t index) {
        events_.push({time, num_events_++, index, kind});
    }

    void handle(const event& e) {
        switch (e.kind) {
            case event_kind::rank_starts: return start(static_cast<rank_t>(e.index));
            case event_kind::slice_comes: return take_slice(static_cast<rank_t>(e.index));
            case event_kind::core_is_done: return finish_current(static_cast<rank_t>(e.index));
            case event_kind::request_comes: return take_request(e.index);
            case event_kind::head_comes: return take_head(e.index);
            case event_kind::tail_comes: return take_message(e.index);
        }
    }

    void start(rank_t rank) {
        auto& state = state_of(rank);
        shares_.idle += static_cast<double>(now_);
        state.idle_since = now_;
        state.finish = now_;
        const auto first = static_cast<std::uint32_t>(schedule_.first_operation(rank));
        const auto count = static_cast<std::uint32_t>(schedule_.operations_of(rank).size());
        for (std::uint32_t place = first; place < first + count; ++place) {
            if (dependencies_.is_met(place)) released_.push_back(place);
        }
        release_all();
    }

    void release_all() {
        matching_.sort_by_arrival(released_);
        for (const auto place : released_) release(place);
        released_.clear();
    }

    // All that the operation requires is complete.
    void release(std::uint32_t place) {
        if (costs_.at(place).kind == operation_kind::receive) {
            post(place);
        } else {
            enqueue(place);
        }
    }

    void enqueue(std::uint32_t place) {
        const rank_t rank = costs_.rank_of(place);
        auto& state = state_of(rank);
        state.ready.push_back(place);
        if (!state.is_busy) take_core(rank);
    }

    void take_core(rank_t rank) {
        state_of(rank).is_busy = true;
        if (machine_.num_cores == 0) return begin_next(rank, now_);
        await(cores_.want(rank, now_));
    }

    void await(const std::optional<shared_cores::next_slice>& slice) {
        if (slice)
            push(slice->start, event_kind::slice_comes, static_cast<std::uint32_t>(slice->rank));
    }

    void take_slice(rank_t rank) {
        if (cores_.begin(rank, now_)) begin_next(rank, now_);
    }

    void give_core_back(rank_t rank) {
        if (machine_.num_cores > 0) await(cores_.give_up(rank, now_));
    }

    void begin_next(rank_t rank, picoseconds time) {
        auto& state = state_of(rank);
        const std::uint32_t place = state.ready.front();
        state.ready.pop_front();
        state.current = place;
        const auto level = costs_.level_of(place);
        auto& share_of_level = shares_.by_level[static_cast<std::size_t>(level)];
        const auto waited = time - state.idle_since;
        (costs_.at(place).kind == operation_kind::receive ? share_of_level : shares_.idle) +=
            static_cast<double>(waited);
        const auto copying = costs_.copying(place);
        const auto overhead =
            costs_.overhead(place, level, matching_.num_passed(place)) + delays_.next();
        shares_.copying += static_cast<double>(copying);
        share_of_level += static_cast<double>(overhead);
        push(time + copying + overhead, event_kind::core_is_done, static_cast<std::uint32_t>(rank));
    }

    void finish_current(rank_t rank) {
        auto& state = state_of(rank);
        const std::uint32_t place = state.current;
        state.idle_since = now_;
        state.finish = now_;
        if (costs_.at(place).kind == operation_kind::send) dispatch(place);
        complete(place);
        if (!state.ready.empty()) return begin_next(rank, now_);
        state.is_busy = false;
        give_core_back(rank);
    }

    void complete(std::uint32_t place) {
        tell_progress(options_, ++num_complete_);
        dependencies_.complete(place, [this](std::uint32_t later) { released_.push_back(later); });
        release_all();
    }

    // The sender's core is done with a message.
    void dispatch(std::uint32_t send) {
        const std::uint32_t receive = other_end_[send];
        matching_.send(receive, now_);
        if (costs_.at(send).is_hand_over) {
            push(now_ + to_picoseconds(machine_.hand_over_seconds), event_kind::tail_comes,
                 receive);
        } else if (costs_.is_rendezvous(send)) {
            push(now_ + costs_.eager_latency(send), event_kind::request_comes, receive);
        } else {
            leave(receive, now_, costs_.eager_latency(send));
        }
    }

    link_times times_of(std::uint32_t receive) const {
        const bool is_between_nodes = costs_.level_of(receive) == locality_level::network;
        return {costs_.rank_link_time(receive),
                is_between_nodes ? costs_.node_link_time(receive) : 0, is_between_nodes};
    }

    void leave(std::uint32_t receive, picoseconds earliest, picoseconds latency) {
        const auto begin = links_.leave(costs_.at(receive).peer, earliest, times_of(receive));
        push(std::max(begin + latency, now_), event_kind::head_comes, receive);
    }

    void take_head(std::uint32_t receive) {
        push(links_.arrive(costs_.rank_of(receive), now_, times_of(receive)),
             event_kind::tail_comes, receive);
    }

    void take_request(std::uint32_t receive) {
        if (const auto sent = matching_.request(costs_.rank_of(receive), receive))
            leave(receive, *sent, costs_.rendezvous_latency(receive));
    }

    void post(std::uint32_t receive) {
        using outcome = message_matching::outcome;
        switch (matching_.post(costs_.rank_of(receive), receive)) {
            case outcome::waits: return;
            case outcome::has_come: return enqueue(receive);
            case outcome::may_come:  // the handshake is all that is left of the latency
                return leave(receive, now_,
                             costs_.rendezvous_latency(receive) - costs_.eager_latency(receive));
        }
    }

    void take_message(std::uint32_t receive) {
        if (matching_.arrive(costs_.rank_of(receive), receive)) enqueue(receive);
    }

    const schedule& schedule_;
    const machine& machine_;
    const simulation_options& options_;

    operation_costs costs_;
    std::vector<std::uint32_t> other_end_;
    dependencies dependencies_;
    message_matching matching_;
    std::vector<std::uint32_t> released_;  // at this moment, all of one rank
    std::vector<rank_state> ranks_;
    links links_;
    shared_cores cores_;

    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::uint64_t num_events_ = 0;
    std::size_t num_complete_ = 0;
    picoseconds now_ = 0;
    time_shares shares_;
    random_delays delays_;
};

}  // namespace

simulation simulate(const rank_layout& layout, const schedule& s, const machine& m,
                    const simulation_options& options) {
    const auto num_ranks = static_cast<std::size_t>(s.num_ranks());
    if (layout.num_ranks() != s.num_ranks() ||
        (!options.start.empty() && options.start.size() != num_ranks)) {
        throw error(errc::size_mismatch,
                    fmt::format("a schedule of {} ranks, a layout of {}, and {} start times",
                                num_ranks, layout.num_ranks(), options.start.size()));
    }
    if (options.charge == charging::loggp) return replay_loggp(layout, s, m, options);
    return replay(layout, s, m, options).run();
}

std::size_t simulation_bytes(rank_t num_ranks, std::size_t num_operations) noexcept {
    constexpr std::size_t bytes_per_event = 2 * sizeof(event);
    constexpr std::size_t bytes_per_operation =
        sizeof(operation) + message_matching::bytes_per_message() + 3 * sizeof(std::size_t) +
        9 * sizeof(std::uint32_t) + bytes_per_event;
    constexpr std::size_t bytes_per_rank = sizeof(rank_state) + 1024;
    return num_operations * bytes_per_operation +
           static_cast<std::size_t>(num_ranks) * bytes_per_rank;
}

}  // namespace crossdock
