#include "satellites/studies/ping_ack.hpp"

#include <algorithm>
#include <vector>

namespace crossdock::bench::studies {

namespace {

// Of a node whose workers all do the same: who sends or receives its messages.
class message_cores {
  public:
    message_cores(const stream_setting& s, const machine& m)
        : s_(s),
          m_(m),
          workers_(static_cast<std::size_t>(s.processes) * static_cast<std::size_t>(s.workers)),
          threads_(static_cast<std::size_t>(s.processes)) {}

    // When the message has left that `worker` sends as soon as it can.
    double send(std::size_t worker, double seconds) {
        double& clock = workers_[worker];
        if (!s_.has_communication_thread) return clock += seconds;
        clock += m_.hand_over_seconds;
        return spend(thread_of(worker), clock, seconds);
    }

    // When `worker` has the message that comes at `time`.
    double receive(std::size_t worker, double time, double seconds) {
        if (!s_.has_communication_thread) return spend(workers_[worker], time, seconds);
        workers_[worker] = spend(thread_of(worker), time, seconds) + m_.hand_over_seconds;
        return workers_[worker];
    }

    std::size_t num_workers() const { return workers_.size(); }

  private:
    double& thread_of(std::size_t worker) {
        return threads_[worker / static_cast<std::size_t>(s_.workers)];
    }

    static double spend(double& clock, double time, double seconds) {
        return clock = std::max(clock, time) + seconds;
    }

    const stream_setting& s_;
    const machine& m_;
    std::vector<double> workers_;
    std::vector<double> threads_;
};

}  // namespace

double ping_ack_seconds(const stream_setting& s, const machine& m) {
    const auto& costs = m.at(locality_level::network);
    const count_t bytes = s.buffer_items * s.item_bytes;
    const double on_top = s.message_seconds_per_byte * static_cast<double>(bytes);
    const double send_seconds = s.message_seconds.value_or(costs.send_overhead_seconds) + on_top;
    const double receive_seconds =
        s.message_seconds.value_or(costs.receive_overhead_seconds) + on_top;
    const auto way_seconds = [&](count_t num_bytes) {
        const auto& way = costs.protocol_of(num_bytes);
        return way.latency_seconds + static_cast<double>(num_bytes) * way.seconds_per_byte;
    };
    message_cores first(s, m);
    message_cores second(s, m);
    double way_out = 0;
    double seconds = 0;
    for (count_t k = 0; k < s.items; ++k) {
        for (std::size_t w = 0; w < first.num_workers(); ++w) {
            const double start = std::max(first.send(w, send_seconds), way_out);
            way_out = start + static_cast<double>(bytes) * m.injection_seconds_per_byte;
            const double end = second.receive(w, start + way_seconds(bytes), receive_seconds);
            seconds = std::max(seconds, end);
        }
    }
    // An acknowledgement is empty, and the last one decides.
    return seconds + costs.send_overhead_seconds + way_seconds(0) + costs.receive_overhead_seconds;
}

}  // namespace crossdock::bench::studies
