#include <array>
#include <chrono>
#include <thread>

#include "bench/stream/bulk_exchange.hpp"
#include "bench/stream/histogram_stream.hpp"

namespace crossdock::bench::streaming {

namespace {

// Each worker hits its own part only: what the machine does without any communication.
class histogram_local final : public contender {
  public:
    explicit histogram_local(std::shared_ptr<histogram_problem> problem)
        : problem_(std::move(problem)), threads_(problem_->table.num_workers()) {}

    void run() override {
        threads_.run([this](int worker) { update(worker); });
    }
    bool is_right() override { return problem_->table.take_back_own(); }

  private:
    void update(int worker) {
        auto& table = problem_->table;
        random_series draws = table.draws(worker);
        std::uint64_t* const part = table.part(worker).data();
        const std::uint64_t part_size = table.part_size();
        std::array<std::uint64_t, 1024>
            places;  // apart, so that many updates are under way at once
        for (std::uint64_t left = table.num_updates(); left > 0;) {
            const auto now = std::min<std::uint64_t>(left, places.size());
            for (std::uint64_t i = 0; i < now; ++i) places[i] = draws.below(part_size);
            for (std::uint64_t i = 0; i < now; ++i) ++part[places[i]];
            left -= now;
        }
    }

    std::shared_ptr<histogram_problem> problem_;
    team threads_;
};

class histogram_alltoallv final : public contender {
  public:
    histogram_alltoallv(const context& where, std::shared_ptr<histogram_problem> problem,
                        const workload_options& options)
        : problem_(std::move(problem)),
          updates_(problem_->table, options),
          threads_(options.stream.workers),
          bulk_(where, options.stream.workers, options.round_items) {}

    void run() override {
        threads_.run([this](int worker) { update(worker); });
    }
    bool is_right() override { return problem_->table.take_back_all(); }

  private:
    void update(int worker) {
        random_series draws = problem_->table.draws(worker);
        for (std::uint64_t left = problem_->table.num_updates(); left > 0;) {
            const std::uint64_t now = std::min(left, bulk_.thread_items());
            add(worker, draws, now);
            left -= now;
            threads_.meet();
            if (worker == 0) bulk_.exchange();
            threads_.meet();
            bulk_.for_each_segment(
                worker, [&](std::span<std::uint64_t> places) { updates_.apply(worker, places); });
            threads_.meet();
        }
        updates_.finish(worker);
    }

    void add(int worker, random_series& draws, std::uint64_t number) {
        const table_split split = problem_->table.split();
        std::uint64_t** const next = bulk_.begin(worker).data();
        for (std::uint64_t i = 0; i < number; ++i) {
            const std::uint64_t index = draws.below(split.num_entries);
            *next[split.owner_number(index)]++ = split.place(index);
        }
    }

    std::shared_ptr<histogram_problem> problem_;
    table_updates updates_;
    team threads_;
    bulk_exchange bulk_;
};

}  // namespace

histogram_stream::histogram_stream(const context& where, std::shared_ptr<histogram_problem> problem,
                                   const workload_options& options, const stream_choice& choice)
    : problem_(std::move(problem)),
      updates_(problem_->table, options),
      threads_(options.stream.workers),
      stream_(
          where,
          [this](auto& port, const stream_batch<std::uint64_t>& places) {
              updates_.apply(port.id().worker, places.items());
          },
          with_choice(options.stream, choice)) {}

void histogram_stream::run() {
    threads_.run([this](int worker) { update(worker); });
}

void histogram_stream::update(int worker) {
    const shared_table& table = problem_->table;
    auto& port = stream_.port(worker);
    random_series draws = table.draws(worker);
    table.for_each_draw(draws, table.num_updates(),
                        [&](auto to, std::uint64_t place, std::uint64_t) { port.push(to, place); });
    port.drain().wait();
    updates_.finish(worker);
}

void histogram_stream::run_paced(double updates_per_second) {
    threads_.run([&](int worker) { update_paced(worker, updates_per_second); });
}

// Between two updates that are due the port makes progress, as a program would that has other work.
void histogram_stream::update_paced(int worker, double updates_per_second) {
    const shared_table& table = problem_->table;
    auto& port = stream_.port(worker);
    random_series draws = table.draws(worker);
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    for (std::uint64_t i = 0; i < table.num_updates();) {
        const std::chrono::duration<double> elapsed = clock::now() - start;
        const auto due = static_cast<std::uint64_t>(elapsed.count() * updates_per_second);
        const std::uint64_t end = std::min(due, table.num_updates());
        table.for_each_draw(draws, end - i, [&](auto to, std::uint64_t place, std::uint64_t) {
            port.push(to, place);
        });
        i = end;
        if (port.progress() == 0) std::this_thread::yield();
    }
    port.drain().wait();
    updates_.finish(worker);
}

std::vector<entrant> histogram_entrants(const context& where, const workload_options& options,
                                        const std::vector<stream_choice>& choices) {
    auto problem = std::make_shared<histogram_problem>(where, options);
    std::vector<entrant> all;
    all.push_back({"alltoallv", {}, [&where, problem, options] {
                       return std::make_unique<histogram_alltoallv>(where, problem, options);
                   }});
    all.push_back({"local", {}, [problem] { return std::make_unique<histogram_local>(problem); }});
    workload_options sampled = options;
    sampled.stream.latency_sample_interval = 16;
    for (const auto& choice : choices) {
        const auto make = [&where, problem, choice](const workload_options& how) {
            return std::make_unique<histogram_stream>(where, problem, how, choice);
        };
        all.push_back({"stream", choice, [make, options] { return make(options); },
                       [make, sampled] { return make(sampled); }});
    }
    return all;
}

}  // namespace crossdock::bench::streaming
