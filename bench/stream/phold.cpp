#include <cmath>
#include <memory>
#include <numeric>

#include "bench/stream/random.hpp"
#include "bench/stream/team.hpp"
#include "bench/stream/workload.hpp"
#include "crossdock/stream.hpp"

namespace crossdock::bench::streaming {

namespace {

// An event carries its own random numbers, so that its way does not depend on who else travels.
struct event {
    std::uint64_t state;
    double time;
    std::uint32_t lp;    // of the worker it is for
    std::uint32_t hops;  // still to be made
};

// A simulation of logical processes (LPs), all on which hold the same number of events at the start.
class simulation {
  public:
    simulation(const workload_options& options, int num_workers)
        : seed_(options.seed),
          num_workers_(static_cast<std::uint64_t>(num_workers)),
          lps_(static_cast<std::uint64_t>(options.lps)),
          lp_events_(static_cast<std::uint64_t>(options.lp_events)),
          lp_hops_(static_cast<std::uint32_t>(options.lp_hops)),
          lookahead_(options.lookahead) {}

    std::uint64_t lps() const noexcept { return lps_; }
    std::uint64_t num_workers() const noexcept { return num_workers_; }

    /// Calls use(event) for all events that a worker's LPs begin with.
    template <class Use>
    void for_each_start(std::uint64_t worker, Use&& use) const {
        for (std::uint64_t i = 0; i < lps_ * lp_events_; ++i) {
            event first{mix(seed_ + mix(worker * lps_ * lp_events_ + i + 1)), 0,
                        static_cast<std::uint32_t>(i / lp_events_), lp_hops_};
            advance_time(first);
            use(first);
        }
    }

    /// Makes it the event that follows, and returns the worker that it is for.
    std::uint64_t advance(event& one) const {
        advance_time(one);
        --one.hops;
        random_series draw(one.state, 0);
        const std::uint64_t lp = draw.below(num_workers_ * lps_);
        one.lp = static_cast<std::uint32_t>(lp % lps_);
        return lp / lps_;
    }

  private:
    // By at least the lookahead, and then exponentially.
    void advance_time(event& one) const {
        one.state = mix(one.state + 0x9E3779B97F4A7C15ULL);
        const double uniform = static_cast<double>((one.state >> 11) + 1) * 0x1p-53;  // (0, 1]
        one.time += lookahead_ - std::log(uniform);
    }

    std::uint64_t seed_;
    std::uint64_t num_workers_;
    std::uint64_t lps_;
    std::uint64_t lp_events_;
    std::uint32_t lp_hops_;
    double lookahead_;
};

// What one worker's LPs have come to.
struct alignas(64) lp_states {
    std::vector<double> clocks;
    std::vector<std::uint64_t> handled;
    count_t rejected = 0;
};

class phold_stream final : public contender {
  public:
    phold_stream(const context& where, const workload_options& options, const stream_choice& choice)
        : first_worker_(where.rank() * options.stream.workers),
          simulation_(options, where.num_ranks() * options.stream.workers),
          states_(static_cast<std::size_t>(options.stream.workers)),
          threads_(options.stream.workers),
          stream_(
              where, [this](auto& port, const stream_batch<event>& events) { take(port, events); },
              with_choice(options.stream, choice)) {}

    void prepare() override {
        for (auto& own : states_) {
            own.clocks.assign(simulation_.lps(), 0);
            own.handled.assign(simulation_.lps(), 0);
            own.rejected = 0;
        }
    }

    void run() override {
        threads_.run([this](int worker) {
            auto& port = stream_.port(worker);
            const auto number = static_cast<std::uint64_t>(first_worker_ + worker);
            simulation_.for_each_start(number,
                                       [&](const event& one) { port.push(port.id(), one); });
            port.drain().wait();
        });
    }

    // Follows each event from its start, one after the other: every LP must have had as many.
    bool is_right() override {
        std::vector<std::vector<std::uint64_t>> expected(
            simulation_.num_workers(), std::vector<std::uint64_t>(simulation_.lps()));
        for (std::uint64_t start = 0; start < simulation_.num_workers(); ++start) {
            simulation_.for_each_start(start, [&](event one) {
                ++expected[start][one.lp];
                while (one.hops > 0) {
                    const std::uint64_t worker = simulation_.advance(one);
                    ++expected[worker][one.lp];
                }
            });
        }
        for (std::size_t w = 0; w < states_.size(); ++w) {
            if (states_[w].handled != expected[static_cast<std::size_t>(first_worker_) + w])
                return false;
        }
        return true;
    }

    work_counts counts() const override {
        work_counts all;
        for (const auto& own : states_) all.rejected += own.rejected;
        return all;
    }

    std::optional<stream_statistics> statistics() const override { return stream_.statistics(); }
    std::optional<stream_scheme> scheme() const override { return stream_.scheme(); }
    void close() override { stream_.close(); }

  private:
    void take(stream_port<event>& port, const stream_batch<event>& events) {
        auto& own = states_[static_cast<std::size_t>(port.id().worker)];
        const int workers = static_cast<int>(states_.size());
        for (event one : events) {
            double& clock = own.clocks[one.lp];
            ++own.handled[one.lp];
            if (one.time < clock) {
                ++own.rejected;
            } else {
                clock = one.time;
            }
            if (one.hops == 0) continue;
            const int to = static_cast<int>(simulation_.advance(one));
            port.push({to / workers, to % workers}, one);
        }
    }

    int first_worker_;
    simulation simulation_;
    std::vector<lp_states> states_;
    team threads_;
    stream<event> stream_;
};

}  // namespace

std::vector<entrant> phold_entrants(const context& where, const workload_options& options,
                                    const std::vector<stream_choice>& choices) {
    std::vector<entrant> all;
    for (const auto& choice : choices) {
        all.push_back({"stream", choice, [&where, options, choice] {
                           return std::make_unique<phold_stream>(where, options, choice);
                       }});
    }
    return all;
}

}  // namespace crossdock::bench::streaming
