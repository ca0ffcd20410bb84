#include "satellites/studies/stream_replay.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace crossdock::bench::studies {

namespace {

constexpr double seconds_per_tick = 1e-9;
using stamp_t = std::uint32_t;  // nanoseconds, when an item was pushed

// Items of one kind that go the same way.
struct buffer {
    std::vector<stamp_t> stamps;
    int last_worker = -1;
};

enum class delivery_kind {
    leaves,   // a message that the communication thread is to send
    arrives,  // one that it is to receive
    message,  // one for a worker
    share,    // what another worker has handed over of a message
};

// Items that came together, and who is to do what with them.
struct delivery {
    double time;
    delivery_kind kind;
    int worker;  // whose items they are; with `leaves` the one that sends them
    int place;   // where they came from or go to, as the number of a buffer
    bool is_answer;
    std::vector<stamp_t> stamps;

    friend bool operator>(const delivery& a, const delivery& b) { return a.time > b.time; }
};

// By time, the earliest first.
class delivery_queue {
  public:
    bool is_empty() const { return heap_.empty(); }
    double first_time() const { return heap_.front().time; }

    void add(delivery what) {
        heap_.push_back(std::move(what));
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    delivery take() {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        delivery first = std::move(heap_.back());
        heap_.pop_back();
        return first;
    }

  private:
    std::vector<delivery> heap_;
};

class stream_replay {
  public:
    stream_replay(const stream_setting& s, const machine& m)
        : s_(s),
          m_(m),
          num_places_(s.nodes * s.processes),
          num_workers_(s.processes * s.workers),
          num_buffers_(s.scheme == stream_scheme::ww ? num_places_ * s.workers : num_places_),
          random_(s.seed),
          workers_(static_cast<std::size_t>(num_workers_)),
          processes_(static_cast<std::size_t>(s.processes)),
          threads_(static_cast<std::size_t>(s.has_communication_thread ? s.processes : 0)),
          sources_(
              static_cast<std::size_t>(fills_together(s.scheme) ? s.processes : num_workers_)) {
        for (auto& source : sources_) {
            source.items.resize(static_cast<std::size_t>(num_buffers_));
            if (s.is_answered) source.answers.resize(static_cast<std::size_t>(num_buffers_));
        }
        if (!fills_together(s.scheme) || s.collected_items == 1) return;
        for (auto& worker : workers_) {
            worker.collected.resize(static_cast<std::size_t>(num_buffers_));
            if (s.is_answered)
                worker.collected_answers.resize(static_cast<std::size_t>(num_buffers_));
        }
    }

    stream_outcome run() {
        for (int w = 0; w < num_workers_; ++w) turns_.push({0, w});
        while (!turns_.empty()) {
            const auto [time, w] = turns_.top();
            turns_.pop();
            if (w >= num_workers_) {
                work_on_messages(w - num_workers_);
                continue;
            }
            auto& worker = workers_[static_cast<std::size_t>(w)];
            worker.has_turn = false;
            worker.clock = std::max(worker.clock, time);
            work(w, worker.clock + m_.hand_over_seconds);
        }
        return result();
    }

  private:
    struct worker_state {
        double clock = 0;
        count_t num_pushed = 0;
        delivery_queue inbox;
        bool has_turn = true;
        // Of shared buffers: what the worker has collected and not yet put there, by place.
        std::vector<std::vector<stamp_t>> collected;
        std::vector<std::vector<stamp_t>> collected_answers;
        // Where the worker is in sending what is left in buffers.
        std::optional<int> next_to_leave;
        std::optional<int> next_answer_to_leave;

        bool is_flushing() const { return next_to_leave || next_answer_to_leave; }
    };
    struct process_state {
        int num_finished = 0;
        count_t num_answered = 0;
        count_t num_buffered = 0;
    };
    struct thread_state {
        double clock = 0;
        double busy_seconds = 0;
        delivery_queue queue;
        bool has_turn = false;
    };
    struct source_state {
        std::vector<buffer> items;
        std::vector<buffer> answers;
        count_t num_messages = 0;
    };
    struct turn {
        double time;
        int worker;  // those beyond the last are the communication threads
        friend bool operator>(const turn& a, const turn& b) {
            return a.time != b.time ? a.time > b.time : a.worker > b.worker;
        }
    };

    worker_state& worker_at(int w) { return workers_[static_cast<std::size_t>(w)]; }
    int process_of(int w) const { return w / s_.workers; }
    process_state& process_at(int w) { return processes_[static_cast<std::size_t>(process_of(w))]; }
    source_state& source_at(int w) {
        return sources_[static_cast<std::size_t>(fills_together(s_.scheme) ? process_of(w) : w)];
    }

    void work(int w, double until) {
        auto& worker = worker_at(w);
        while (worker.clock <= until) {
            if (worker.next_to_leave) {
                leave_next(w, worker.next_to_leave, false);
            } else if (worker.next_answer_to_leave) {
                leave_next(w, worker.next_answer_to_leave, true);
            } else if (!worker.inbox.is_empty() && worker.inbox.first_time() <= worker.clock) {
                take(w);
            } else if (worker.num_pushed < s_.items) {
                push_next(w);
            } else {
                break;
            }
        }
        if (worker.num_pushed < s_.items || worker.is_flushing()) {
            give_turn(w, worker.clock);
        } else if (!worker.inbox.is_empty()) {
            give_turn(w, std::max(worker.clock, worker.inbox.first_time()));
        }
    }

    void give_turn(int w, double time) {
        worker_at(w).has_turn = true;
        turns_.push({time, w});
    }

    int draw(int bound) {
        return static_cast<int>((random_() >> 32U) * static_cast<std::uint64_t>(bound) >> 32U);
    }

    void push_next(int w) {
        auto& worker = worker_at(w);
        const int target = draw(num_places_ * s_.workers);
        const int place = s_.scheme == stream_scheme::ww ? target : target / s_.workers;
        charge_item(worker);
        push(w, place, false, {&(scratch_ = stamp_of(worker.clock)), 1});
        if (++worker.num_pushed == s_.items) finish_pushing(w);
    }

    void charge_item(worker_state& worker) { worker.clock += s_.item_seconds; }

    void charge(worker_state& worker, double seconds) {
        worker.clock += seconds;
        overhead_ += seconds;
    }

    static stamp_t stamp_of(double time) {
        return static_cast<stamp_t>(time / seconds_per_tick + 0.5);
    }

    void push(int w, int place, bool is_answer, std::span<const stamp_t> stamps) {
        auto& held = process_at(w).num_buffered;
        held += static_cast<count_t>(stamps.size());
        most_buffered_ = std::max(most_buffered_, held);
        auto& worker = worker_at(w);
        auto& collected = is_answer ? worker.collected_answers : worker.collected;
        if (collected.empty()) return put(w, place, is_answer, stamps);
        auto& here = collected[static_cast<std::size_t>(place)];
        for (const stamp_t stamp : stamps) {
            here.push_back(stamp);
            if (static_cast<count_t>(here.size()) == s_.collected_items)
                put(w, place, is_answer, std::exchange(here, {}));
        }
    }

    // Room in a shared buffer is taken once for items that are put there together.
    void put(int w, int place, bool is_answer, std::span<const stamp_t> stamps) {
        auto& source = source_at(w);
        auto& to = (is_answer ? source.answers : source.items)[static_cast<std::size_t>(place)];
        if (fills_together(s_.scheme) && to.last_worker != w) {
            charge(worker_at(w), m_.hand_over_seconds);
            contention_ += m_.hand_over_seconds;
            to.last_worker = w;
        }
        for (const stamp_t stamp : stamps) {
            to.stamps.push_back(stamp);
            if (static_cast<count_t>(to.stamps.size()) == s_.buffer_items)
                leave(w, place, is_answer);
        }
    }

    void put_all(int w, bool is_answer) {
        auto& worker = worker_at(w);
        auto& collected = is_answer ? worker.collected_answers : worker.collected;
        for (std::size_t place = 0; place < collected.size(); ++place) {
            if (!collected[place].empty())
                put(w, static_cast<int>(place), is_answer, std::exchange(collected[place], {}));
        }
    }

    void finish_pushing(int w) {
        put_all(w, false);
        outcome_.pushing_seconds += worker_at(w).clock / num_workers_;
        auto& process = process_at(w);
        if (++process.num_finished == s_.workers || !fills_together(s_.scheme))
            worker_at(w).next_to_leave = 0;
    }

    // Of the buffers that are left at the end, the next that holds anything.
    void leave_next(int w, std::optional<int>& next, bool is_answer) {
        auto& source = source_at(w);
        const auto& buffers = is_answer ? source.answers : source.items;
        int place = *next;
        while (place < num_buffers_ && buffers[static_cast<std::size_t>(place)].stamps.empty())
            ++place;
        if (place < num_buffers_) leave(w, place, is_answer);
        next = place + 1 < num_buffers_ ? std::optional<int>(place + 1) : std::nullopt;
    }

    locality_level level_of(int w, int place) const {
        const int process = s_.scheme == stream_scheme::ww ? place / s_.workers : place;
        if (process / s_.processes != 0) return locality_level::network;
        return process == process_of(w) ? locality_level::self : locality_level::node;
    }

    double copy_seconds(std::size_t num_items) const {
        return static_cast<double>(num_items) *
               (m_.copy_seconds_per_item +
                static_cast<double>(s_.item_bytes) * m_.copy_seconds_per_byte);
    }

    void leave(int w, int place, bool is_answer) {
        auto& worker = worker_at(w);
        auto& source = source_at(w);
        auto& from = (is_answer ? source.answers : source.items)[static_cast<std::size_t>(place)];
        const auto num_items = from.stamps.size();
        process_at(w).num_buffered -= static_cast<count_t>(num_items);
        count_message(source, static_cast<count_t>(num_items), is_answer);
        if (s_.scheme == stream_scheme::wsp) charge(worker, copy_seconds(num_items));
        const auto level = level_of(w, place);
        auto stamps = std::exchange(from.stamps, {});
        if (level == locality_level::self) {
            const double time = worker.clock + m_.hand_over_seconds;
            return deliver({time, delivery_kind::message, receiver_of(w), place, is_answer,
                            std::move(stamps)});
        }
        if (s_.has_communication_thread) {
            charge(worker, m_.hand_over_seconds);
            return give_thread(
                {worker.clock, delivery_kind::leaves, w, place, is_answer, std::move(stamps)});
        }
        charge(worker, message_seconds(m_.at(level).send_overhead_seconds, num_items));
        const double arrival = arrival_of(worker.clock, level, num_items);
        deliver(
            {arrival, delivery_kind::message, receiver_of(w), place, is_answer, std::move(stamps)});
    }

    // The message like the one that `w` sends comes from where that one goes, to some worker of this process.
    int receiver_of(int w) {
        return s_.scheme == stream_scheme::ww ? w : process_of(w) * s_.workers + draw(s_.workers);
    }

    // Of whoever sends or receives a message.
    double message_seconds(double overhead, std::size_t num_items) const {
        return s_.message_seconds.value_or(overhead) + s_.message_seconds_per_byte *
                                                           static_cast<double>(num_items) *
                                                           static_cast<double>(s_.item_bytes);
    }

    void give_thread(delivery what) {
        const int process = process_of(what.worker);
        auto& thread = threads_[static_cast<std::size_t>(process)];
        thread.queue.add(std::move(what));
        if (!thread.has_turn) give_thread_turn(process);
    }

    void give_thread_turn(int process) {
        auto& thread = threads_[static_cast<std::size_t>(process)];
        thread.has_turn = true;
        turns_.push({std::max(thread.clock, thread.queue.first_time()), num_workers_ + process});
    }

    // What comes first is done first, be it to send or to receive.
    void work_on_messages(int process) {
        auto& thread = threads_[static_cast<std::size_t>(process)];
        thread.has_turn = false;
        auto what = thread.queue.take();
        const auto level = level_of(what.worker, what.place);
        const bool leaves = what.kind == delivery_kind::leaves;
        const auto& costs = m_.at(level);
        const double seconds =
            message_seconds(leaves ? costs.send_overhead_seconds : costs.receive_overhead_seconds,
                            what.stamps.size());
        thread.clock = std::max(thread.clock, what.time) + seconds;
        thread.busy_seconds += seconds;
        if (leaves) {
            what.time = arrival_of(thread.clock, level, what.stamps.size());
            what.kind = delivery_kind::arrives;
            what.worker = receiver_of(what.worker);
            thread.queue.add(std::move(what));
        } else {
            what.time = thread.clock + m_.hand_over_seconds;
            what.kind = delivery_kind::message;
            deliver(std::move(what));
        }
        if (!thread.queue.is_empty()) give_thread_turn(process);
    }

    void count_message(source_state& source, count_t num_items, bool is_answer) {
        if (is_answer) {
            ++outcome_.answer_messages;
            return;
        }
        ++source.num_messages;
        ++outcome_.messages;
        outcome_.full_messages += num_items == s_.buffer_items;
    }

    double arrival_of(double time, locality_level level, std::size_t num_items) {
        const count_t bytes = static_cast<count_t>(num_items) * s_.item_bytes;
        const auto& way = m_.at(level).protocol_of(bytes);
        if (level == locality_level::network) {
            time = std::max(time, way_out_);
            way_out_ = time + static_cast<double>(bytes) * m_.injection_seconds_per_byte;
        }
        return time + way.latency_seconds + static_cast<double>(bytes) * way.seconds_per_byte;
    }

    void deliver(delivery what) {
        const int w = what.worker;
        auto& worker = worker_at(w);
        const double time = what.time;
        worker.inbox.add(std::move(what));
        if (!worker.has_turn) give_turn(w, std::max(time, worker.clock));
    }

    void take(int w) {
        auto& worker = worker_at(w);
        const delivery what = worker.inbox.take();
        if (what.kind == delivery_kind::share)
            return handle(w, what.place, what.is_answer, what.stamps);
        const auto level = level_of(w, what.place);
        if (level != locality_level::self && !s_.has_communication_thread)
            charge(worker,
                   message_seconds(m_.at(level).receive_overhead_seconds, what.stamps.size()));
        if (s_.scheme == stream_scheme::ww)
            return handle(w, what.place, what.is_answer, what.stamps);
        if (s_.scheme != stream_scheme::wsp) charge(worker, copy_seconds(what.stamps.size()));
        divide(w, what);
    }

    // Items of one message for the workers of this process, in turn.
    void divide(int w, const delivery& what) {
        const auto t = static_cast<std::size_t>(s_.workers);
        const auto first = static_cast<std::size_t>(w - process_of(w) * s_.workers);
        std::vector<std::vector<stamp_t>> shares(t);
        for (std::size_t k = 0; k < what.stamps.size(); ++k)
            shares[(first + k) % t].push_back(what.stamps[k]);
        const double time = worker_at(w).clock + m_.hand_over_seconds;
        for (std::size_t k = 1; k < t; ++k) {
            const auto other = (first + k) % t;
            if (shares[other].empty()) continue;
            deliver({time, delivery_kind::share,
                     process_of(w) * s_.workers + static_cast<int>(other), what.place,
                     what.is_answer, std::move(shares[other])});
        }
        handle(w, what.place, what.is_answer, shares[first]);
    }

    void handle(int w, int place, bool is_answer, std::span<const stamp_t> stamps) {
        auto& worker = worker_at(w);
        const bool is_last = is_answer || !s_.is_answered;
        for (const stamp_t stamp : stamps) {
            charge_item(worker);
            if (is_last) note_latency(worker.clock - stamp * seconds_per_tick);
            if (!is_last) push(w, place, true, {&stamp, 1});
        }
        if (is_last) return;
        auto& process = process_at(w);
        process.num_answered += static_cast<count_t>(stamps.size());
        if (process.num_answered == s_.items * s_.workers) flush_answers(w);
    }

    // All that came to the process of `last` is answered.
    void flush_answers(int last) {
        const int first = process_of(last) * s_.workers;
        const bool is_shared = fills_together(s_.scheme);
        for (int w = first; w < first + s_.workers; ++w) {
            auto& worker = worker_at(w);
            if (is_shared && w != last && worker.collected_answers.empty()) continue;
            worker.clock = std::max(worker.clock, worker_at(last).clock);
            put_all(w, true);
            if (is_shared && w != last) continue;
            worker.next_answer_to_leave = 0;
            if (w != last && !worker.has_turn) give_turn(w, worker.clock);
        }
    }

    void note_latency(double seconds) {
        outcome_.latencies.add(static_cast<std::int64_t>(seconds / seconds_per_tick + 0.5));
        latency_sum_ += seconds;
    }

    stream_outcome result() {
        outcome_.least_messages = std::numeric_limits<count_t>::max();
        for (const auto& source : sources_) {
            outcome_.least_messages = std::min(outcome_.least_messages, source.num_messages);
            outcome_.most_messages = std::max(outcome_.most_messages, source.num_messages);
        }
        const auto num_items = static_cast<double>(s_.items) * num_workers_;
        outcome_.most_buffered = most_buffered_;
        outcome_.num_latencies = outcome_.latencies.count();
        outcome_.mean_latency_seconds = latency_sum_ / static_cast<double>(outcome_.num_latencies);
        for (const auto& worker : workers_)
            outcome_.seconds = std::max(outcome_.seconds, worker.clock);
        for (const auto& thread : threads_)
            outcome_.thread_seconds = std::max(outcome_.thread_seconds, thread.busy_seconds);
        outcome_.overhead_seconds = overhead_ / num_items;
        outcome_.contention_seconds = contention_ / num_items;
        return outcome_;
    }

    const stream_setting& s_;
    const machine& m_;
    int num_places_;
    int num_workers_;
    int num_buffers_;  // of a source, of one kind
    std::mt19937_64 random_;
    std::vector<worker_state> workers_;
    std::vector<process_state> processes_;
    std::vector<thread_state> threads_;
    std::vector<source_state> sources_;
    std::priority_queue<turn, std::vector<turn>, std::greater<>> turns_;
    stream_outcome outcome_;
    stamp_t scratch_ = 0;
    double way_out_ = 0;  // until when the node's way out is taken
    double overhead_ = 0;
    double contention_ = 0;
    double latency_sum_ = 0;
    count_t most_buffered_ = 0;
};

}  // namespace

stream_outcome replay_stream(const stream_setting& s, const machine& m) {
    return stream_replay(s, m).run();
}

}  // namespace crossdock::bench::studies
