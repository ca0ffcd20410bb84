#include <fmt/format.h>

#include <memory>

#include "bench/stream/team.hpp"
#include "bench/stream/workload.hpp"
#include "crossdock/stream.hpp"

namespace crossdock::bench::streaming {

namespace {

struct ping {
    std::uint32_t sender;  // counted over all workers
    std::uint32_t number;
};

// The first half of all workers pings the second, one to one; with an odd number the last one rests.
class ping_ack_stream final : public contender {
  public:
    ping_ack_stream(const context& where, const workload_options& options,
                    const stream_choice& choice)
        : rank_(where.rank()),
          num_workers_(options.stream.workers),
          half_(where.num_ranks() * options.stream.workers / 2),
          num_pings_(static_cast<std::uint32_t>(options.updates)),
          is_urgent_(options.stream.priorities == 2),
          acks_(static_cast<std::size_t>(options.stream.workers)),
          threads_(options.stream.workers),
          stream_(
              where, [this](auto& port, const stream_batch<ping>& pings) { take(port, pings); },
              with_choice(options.stream, choice)) {}

    void prepare() override { acks_.assign(acks_.size(), {}); }
    void run() override {
        threads_.run([this](int worker) { send(worker); });
    }

    bool is_right() override {
        const std::uint64_t n = num_pings_;
        for (int worker = 0; worker < num_workers_; ++worker) {
            const bool sends = number_of(worker) < half_;
            const acks expected = sends ? acks{n, n * (n - 1) / 2} : acks{};
            if (acks_[static_cast<std::size_t>(worker)] != expected) return false;
        }
        return true;
    }

    std::optional<stream_statistics> statistics() const override { return stream_.statistics(); }
    std::optional<stream_scheme> scheme() const override { return stream_.scheme(); }
    void close() override { stream_.close(); }

  private:
    struct alignas(64) acks {
        std::uint64_t number = 0;
        std::uint64_t sum = 0;  // of the numbers of the pings

        friend bool operator==(const acks&, const acks&) = default;
    };

    int number_of(int worker) const { return rank_ * num_workers_ + worker; }
    worker_id worker_of(int number) const { return {number / num_workers_, number % num_workers_}; }

    void send(int worker) {
        auto& port = stream_.port(worker);
        const int own = number_of(worker);
        if (own < half_) {
            const worker_id peer = worker_of(own + half_);
            for (std::uint32_t i = 0; i < num_pings_; ++i)
                port.push(peer, {static_cast<std::uint32_t>(own), i});
        }
        port.drain().wait();
    }

    void take(stream_port<ping>& port, const stream_batch<ping>& pings) {
        const int worker = port.id().worker;
        if (number_of(worker) < half_) {
            auto& own = acks_[static_cast<std::size_t>(worker)];
            own.number += pings.size();
            for (const ping& one : pings) own.sum += one.number;
            return;
        }
        for (const ping& one : pings) {
            const worker_id sender = worker_of(static_cast<int>(one.sender));
            is_urgent_ ? port.push_urgent(sender, one) : port.push(sender, one);
        }
    }

    rank_t rank_;
    int num_workers_;
    int half_;
    std::uint32_t num_pings_;
    bool is_urgent_;
    std::vector<acks> acks_;
    team threads_;
    stream<ping> stream_;
};

}  // namespace

std::vector<entrant> ping_ack_entrants(const context& where, const workload_options& options,
                                       const std::vector<stream_choice>& choices) {
    if (where.num_ranks() * options.stream.workers < 2)
        throw error(errc::invalid_argument,
                    "ping_ack needs two workers; start more ranks or raise --workers");
    std::vector<entrant> all;
    for (const auto& choice : choices) {
        all.push_back({"stream", choice, [&where, options, choice] {
                           return std::make_unique<ping_ack_stream>(where, options, choice);
                       }});
    }
    return all;
}

}  // namespace crossdock::bench::streaming
