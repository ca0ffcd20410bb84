#include "crossdock/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <queue>
#include <random>

#include "message_pairs.hpp"
#include "search_queues.hpp"
#include "shared_cores.hpp"

namespace crossdock {

namespace {

constexpr std::size_t progress_interval = 1U << 16U;

picoseconds for_bytes(double seconds_per_byte, count_t num_bytes) {
    return to_picoseconds(seconds_per_byte * static_cast<double>(num_bytes));
}

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

// What is known of an operation that receives.
struct message_state {
    picoseconds sent = 0;      // when the sender's core was done with it
    std::uint32_t place = 0;   // in the queue of waiting receives or in that of unexpected messages
    std::uint32_t passed = 0;  // others that were looked at first
    bool is_posted = false;
    bool is_requested = false;
    bool has_come = false;
    bool was_late =
        false;  // the receive: it was posted when the message, or its request, was there
};

struct rank_state {
    std::deque<std::uint32_t> ready;  // operations, over all ranks
    std::uint32_t current = 0;
    bool is_busy = false;
    picoseconds idle_since = 0;
    picoseconds finish = 0;
};

// The times until which a way is taken, and how long what passes takes it.
struct links {
    std::vector<picoseconds> out;
    std::vector<picoseconds> in;

    explicit links(std::size_t count) : out(count), in(count) {}
};

class replay {
  public:
    replay(const rank_layout& layout, const schedule& s, const machine& m,
           const simulation_options& options)
        : layout_(layout),
          schedule_(s),
          machine_(m),
          options_(options),
          other_end_(pair_messages(s)),
          rank_of_(s.num_operations()),
          num_missing_(s.num_operations()),
          messages_(s.num_operations()),
          ranks_(static_cast<std::size_t>(s.num_ranks())),
          waiting_(count_receives()),
          unexpected_(waiting_),
          rank_links_(ranks_.size()),
          node_links_(static_cast<std::size_t>(layout.nodes().num_regions())),
          cores_(m.num_cores, s.num_ranks(), to_picoseconds(m.time_slice_seconds)),
          random_(options.seed) {
        index_operations();
    }

    simulation run() {
        for (rank_t rank = 0; rank < schedule_.num_ranks(); ++rank)
            push(start_of(rank), event_kind::rank_starts, static_cast<std::uint32_t>(rank));
        while (!events_.empty()) {
            const event next = events_.top();
            events_.pop();
            now_ = next.time;
            handle(next);
        }
        if (num_complete_ < schedule_.num_operations()) {
            throw error(errc::invalid_argument,
                        fmt::format("{} of {} operations wait for each other",
                                    schedule_.num_operations() - num_complete_,
                                    schedule_.num_operations()));
        }
        return result();
    }

  private:
    std::vector<std::uint32_t> count_receives() const {
        std::vector<std::uint32_t> counts;
        for (rank_t rank = 0; rank < schedule_.num_ranks(); ++rank) {
            const auto all = schedule_.operations_of(rank);
            counts.push_back(
                static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [](const auto& o) {
                    return o.kind == operation_kind::receive && !o.is_hand_over;
                })));
        }
        return counts;
    }

    // Who waits for whom, the other way round.
    void index_operations() {
        first_dependent_.assign(schedule_.num_operations() + 1, 0);
        const auto for_all = [&](auto&& use) {
            for (rank_t rank = 0; rank < schedule_.num_ranks(); ++rank) {
                const auto first = schedule_.first_operation(rank);
                const auto count = schedule_.operations_of(rank).size();
                for (std::size_t k = 0; k < count; ++k) {
                    for (const auto other : schedule_.required_by(rank, k))
                        use(first + k, first + other);
                    rank_of_[first + k] = rank;
                }
            }
        };
        for_all([&](std::size_t later, std::size_t earlier) {
            ++num_missing_[later];
            ++first_dependent_[earlier + 1];
        });
        std::partial_sum(first_dependent_.begin(), first_dependent_.end(),
                         first_dependent_.begin());
        dependents_.resize(first_dependent_.back());
        auto next = first_dependent_;
        for_all([&](std::size_t later, std::size_t earlier) {
            dependents_[next[earlier]++] = static_cast<std::uint32_t>(later);
        });
    }

    picoseconds start_of(rank_t rank) const {
        return options_.start.empty() ? 0 : options_.start[static_cast<std::size_t>(rank)];
    }

    rank_state& state_of(rank_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    const operation& operation_at(std::uint32_t place) const {
        const rank_t rank = rank_of_[place];
        return schedule_.operations_of(rank)[place - schedule_.first_operation(rank)];
    }

    locality_level level_of(std::uint32_t place) const {
        const auto& what = operation_at(place);
        return what.kind == operation_kind::copy ? locality_level::self
                                                 : layout_.level_of(rank_of_[place], what.peer);
    }

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
            if (num_missing_[place] == 0) release(place);
        }
    }

    // All that the operation requires is complete.
    void release(std::uint32_t place) {
        if (operation_at(place).kind == operation_kind::receive) {
            post(place);
        } else {
            enqueue(place);
        }
    }

    void enqueue(std::uint32_t place) {
        const rank_t rank = rank_of_[place];
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

    picoseconds noise() {
        if (options_.mean_noise == 0) return 0;
        const double uniform = (static_cast<double>(random_() >> 11U) + 0.5) * 0x1p-53;
        return static_cast<picoseconds>(
            std::llround(-std::log(uniform) * static_cast<double>(options_.mean_noise)));
    }

    picoseconds copy_time(const operation& what) const {
        return for_bytes(machine_.copy_seconds_per_byte, what.copied_bytes) +
               for_bytes(machine_.copy_seconds_per_item, what.copied_items);
    }

    // Each end's half of what the bytes of a message cost cores that ranks share.
    picoseconds byte_work(std::uint32_t place) const {
        if (machine_.num_cores == 0) return 0;
        return for_bytes(protocol_of(place).seconds_per_byte / 2,
                         operation_at(place).message_bytes);
    }

    picoseconds overhead_of(std::uint32_t place, locality_level level) const {
        const auto& what = operation_at(place);
        if (what.is_hand_over || what.kind == operation_kind::copy) return 0;
        if (what.kind == operation_kind::send)
            return to_picoseconds(machine_.at(level).send_overhead_seconds) + byte_work(place);
        return to_picoseconds(machine_.at(level).receive_overhead_seconds) + byte_work(place) +
               for_bytes(machine_.matching_seconds, messages_[place].passed);
    }

    void begin_next(rank_t rank, picoseconds time) {
        auto& state = state_of(rank);
        const std::uint32_t place = state.ready.front();
        state.ready.pop_front();
        state.current = place;
        const auto& what = operation_at(place);
        const auto level = level_of(place);
        auto& share_of_level = shares_.by_level[static_cast<std::size_t>(level)];
        const auto waited = time - state.idle_since;
        (what.kind == operation_kind::receive ? share_of_level : shares_.idle) +=
            static_cast<double>(waited);
        const auto copying = copy_time(what);
        const auto overhead = overhead_of(place, level) + noise();
        shares_.copying += static_cast<double>(copying);
        share_of_level += static_cast<double>(overhead);
        push(time + copying + overhead, event_kind::core_is_done, static_cast<std::uint32_t>(rank));
    }

    void finish_current(rank_t rank) {
        auto& state = state_of(rank);
        const std::uint32_t place = state.current;
        state.idle_since = now_;
        state.finish = now_;
        if (operation_at(place).kind == operation_kind::send) dispatch(place);
        complete(place);
        if (!state.ready.empty()) return begin_next(rank, now_);
        state.is_busy = false;
        give_core_back(rank);
    }

    void complete(std::uint32_t place) {
        ++num_complete_;
        if (options_.progress && num_complete_ % progress_interval == 0)
            options_.progress(num_complete_);
        for (auto k = first_dependent_[place]; k < first_dependent_[place + 1]; ++k) {
            const std::uint32_t later = dependents_[k];
            if (--num_missing_[later] == 0) release(later);
        }
    }

    bool is_rendezvous(std::uint32_t place) const {
        return operation_at(place).message_bytes > machine_.at(level_of(place)).rendezvous_bytes;
    }

    // The sender's core is done with a message.
    void dispatch(std::uint32_t send) {
        const std::uint32_t receive = other_end_[send];
        const auto& what = operation_at(send);
        messages_[receive].sent = now_;
        if (what.is_hand_over) {
            push(now_ + to_picoseconds(machine_.hand_over_seconds), event_kind::tail_comes,
                 receive);
        } else if (is_rendezvous(send)) {
            const auto latency = machine_.at(level_of(send)).eager.latency_seconds;
            push(now_ + to_picoseconds(latency), event_kind::request_comes, receive);
        } else {
            const auto latency = machine_.at(level_of(send)).eager.latency_seconds;
            begin_link(receive, now_, to_picoseconds(latency));
        }
    }

    const protocol_parameters& protocol_of(std::uint32_t place) const {
        return machine_.at(level_of(place)).protocol_of(operation_at(place).message_bytes);
    }

    // Where ranks share cores these are what carries bytes, and no way is taken.
    picoseconds bytes_time(std::uint32_t place) const {
        if (machine_.num_cores > 0) return 0;
        return for_bytes(protocol_of(place).seconds_per_byte,
                         std::max<count_t>(operation_at(place).message_bytes - 1, 0));
    }

    picoseconds node_time(std::uint32_t place) const {
        if (machine_.num_cores > 0) return 0;
        return for_bytes(machine_.injection_seconds_per_byte, operation_at(place).message_bytes);
    }

    std::size_t node_of(rank_t rank) const {
        return static_cast<std::size_t>(layout_.nodes().region_of(rank));
    }

    void begin_link(std::uint32_t receive, picoseconds earliest, picoseconds latency) {
        const rank_t source = operation_at(receive).peer;
        auto& rank_out = rank_links_.out[static_cast<std::size_t>(source)];
        auto begin = std::max(earliest, rank_out);
        if (level_of(receive) == locality_level::network) {
            auto& node_out = node_links_.out[node_of(source)];
            begin = std::max(begin, node_out);
            node_out = begin + node_time(receive);
        }
        rank_out = begin + bytes_time(receive);
        push(std::max(begin + latency, now_), event_kind::head_comes, receive);
    }

    void take_head(std::uint32_t receive) {
        const rank_t here = rank_of_[receive];
        auto& rank_in = rank_links_.in[static_cast<std::size_t>(here)];
        auto end = std::max(now_, rank_in) + bytes_time(receive);
        if (level_of(receive) == locality_level::network) {
            auto& node_in = node_links_.in[node_of(here)];
            node_in = std::max(node_in, now_) + node_time(receive);
            end = std::max(end, node_in);
        }
        rank_in = end;
        push(end, event_kind::tail_comes, receive);
    }

    picoseconds handshake_of(std::uint32_t receive) const {
        const auto& level = machine_.at(level_of(receive));
        return to_picoseconds(level.rendezvous.latency_seconds) -
               to_picoseconds(level.eager.latency_seconds);
    }

    void take_request(std::uint32_t receive) {
        auto& message = messages_[receive];
        message.is_requested = true;
        const auto latency = machine_.at(level_of(receive)).rendezvous.latency_seconds;
        if (message.is_posted) return begin_link(receive, message.sent, to_picoseconds(latency));
        note_unexpected(receive);
    }

    void note_unexpected(std::uint32_t receive) {
        messages_[receive].place = unexpected_.append(rank_of_[receive]);
    }

    void post(std::uint32_t receive) {
        auto& message = messages_[receive];
        const rank_t rank = rank_of_[receive];
        message.is_posted = true;
        if (operation_at(receive).is_hand_over) {
            if (message.has_come) enqueue(receive);
            return;
        }
        if (!message.has_come && !message.is_requested) {
            message.place = waiting_.append(rank);
            return;
        }
        message.passed = unexpected_.take(rank, message.place);
        message.was_late = true;
        if (message.has_come) {
            enqueue(receive);
        } else {
            begin_link(receive, now_, handshake_of(receive));
        }
    }

    void take_message(std::uint32_t receive) {
        auto& message = messages_[receive];
        message.has_come = true;
        const bool is_hand_over = operation_at(receive).is_hand_over;
        if (!message.is_posted) {
            if (!is_hand_over) note_unexpected(receive);
            return;
        }
        if (!is_hand_over && !message.was_late)
            message.passed = waiting_.take(rank_of_[receive], message.place);
        enqueue(receive);
    }

    simulation result() {
        simulation outcome;
        for (const auto& state : ranks_) outcome.finish.push_back(state.finish);
        if (outcome.finish.empty()) return outcome;
        outcome.slowest = *std::max_element(outcome.finish.begin(), outcome.finish.end());
        double sum = 0;
        for (const auto finish : outcome.finish) {
            sum += static_cast<double>(finish);
            shares_.idle += static_cast<double>(outcome.slowest - finish);
        }
        outcome.mean = sum / static_cast<double>(outcome.finish.size());
        outcome.shares = shares_;
        return outcome;
    }

    const rank_layout& layout_;
    const schedule& schedule_;
    const machine& machine_;
    const simulation_options& options_;

    std::vector<std::uint32_t> other_end_;
    std::vector<rank_t> rank_of_;
    std::vector<std::uint32_t> num_missing_;
    std::vector<std::size_t> first_dependent_;
    std::vector<std::uint32_t> dependents_;
    std::vector<message_state> messages_;
    std::vector<rank_state> ranks_;
    search_queues waiting_;     // receives
    search_queues unexpected_;  // messages that no receive waits for
    links rank_links_;
    links node_links_;
    shared_cores cores_;

    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::uint64_t num_events_ = 0;
    std::size_t num_complete_ = 0;
    picoseconds now_ = 0;
    time_shares shares_;
    std::mt19937_64 random_;
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
    return replay(layout, s, m, options).run();
}

std::size_t simulation_bytes(rank_t num_ranks, std::size_t num_operations) noexcept {
    constexpr std::size_t bytes_per_event = 2 * sizeof(event);
    constexpr std::size_t bytes_per_operation = sizeof(operation) + sizeof(message_state) +
                                                3 * sizeof(std::size_t) +
                                                9 * sizeof(std::uint32_t) + bytes_per_event;
    constexpr std::size_t bytes_per_rank = sizeof(rank_state) + 1024;
    return num_operations * bytes_per_operation +
           static_cast<std::size_t>(num_ranks) * bytes_per_rank;
}

}  // namespace crossdock
