#include <algorithm>
#include <memory>

#include "bench/stream/bulk_exchange.hpp"
#include "bench/stream/table.hpp"
#include "bench/stream/team.hpp"
#include "crossdock/request_stream.hpp"

namespace crossdock::bench::streaming {

namespace {

// The table, and what every worker of this rank reads of it.
struct gather_problem {
    gather_problem(const context& where, const workload_options& options)
        : table(on_all_or_none(where, [&] { return shared_table(where, options); })),
          values(static_cast<std::size_t>(options.stream.workers)) {
        table.fill();
        for (auto& own : values) own.resize(table.num_updates());
    }

    // Whether every worker has the value of every index that it draws. Forgets them.
    bool take_values() {
        bool is_right = true;
        for (int worker = 0; worker < table.num_workers(); ++worker) {
            random_series draws = table.draws(worker);
            for (std::uint64_t& value : values[static_cast<std::size_t>(worker)]) {
                is_right &= value == table.value_of(draws.below(table.split().num_entries));
                value = 0;
            }
        }
        return is_right;
    }

    shared_table table;
    std::vector<std::vector<std::uint64_t>> values;
};

class gather_alltoallv final : public contender {
  public:
    gather_alltoallv(const context& where, std::shared_ptr<gather_problem> problem,
                     const workload_options& options)
        : problem_(std::move(problem)),
          threads_(options.stream.workers),
          bulk_(where, options.stream.workers, options.round_items),
          asked_(static_cast<std::size_t>(options.stream.workers)) {
        for (auto& own : asked_) own.resize(bulk_.thread_items());
    }

    void run() override {
        threads_.run([this](int worker) { read(worker); });
    }
    bool is_right() override { return problem_->take_values(); }

  private:
    void read(int worker) {
        auto& table = problem_->table;
        random_series draws = table.draws(worker);
        std::uint64_t* values = problem_->values[static_cast<std::size_t>(worker)].data();
        const std::uint64_t* const part = table.part(worker).data();
        for (std::uint64_t left = table.num_updates(); left > 0;) {
            const std::uint64_t now = std::min(left, bulk_.thread_items());
            ask(worker, draws, now);
            threads_.meet();
            if (worker == 0) bulk_.exchange();
            threads_.meet();
            bulk_.for_each_segment(worker, [&](std::span<std::uint64_t> words) {
                for (std::uint64_t& word : words) word = part[word];
            });
            threads_.meet();
            if (worker == 0) bulk_.exchange_back();
            threads_.meet();
            take(worker, {values, now});
            left -= now;
            values += now;
        }
    }

    // Notes where each place is written: that is where its value comes to.
    void ask(int worker, random_series& draws, std::uint64_t number) {
        const table_split split = problem_->table.split();
        std::uint64_t** const next = bulk_.begin(worker).data();
        const std::uint64_t** const asked = asked_[static_cast<std::size_t>(worker)].data();
        for (std::uint64_t i = 0; i < number; ++i) {
            const std::uint64_t index = draws.below(split.num_entries);
            std::uint64_t* const word = next[split.owner_number(index)]++;
            *word = split.place(index);
            asked[i] = word;
        }
    }

    void take(int worker, std::span<std::uint64_t> values) {
        const std::uint64_t* const* const asked = asked_[static_cast<std::size_t>(worker)].data();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = *asked[i];
    }

    std::shared_ptr<gather_problem> problem_;
    team threads_;
    bulk_exchange bulk_;
    std::vector<std::vector<const std::uint64_t*>> asked_;  // by every thread in the round
};

class gather_stream final : public contender {
  public:
    gather_stream(const context& where, std::shared_ptr<gather_problem> problem,
                  const workload_options& options, const stream_choice& choice)
        : problem_(std::move(problem)),
          threads_(options.stream.workers),
          stream_(
              where,
              [this](auto& port, std::span<const std::uint64_t> places,
                     std::span<std::uint64_t> values) {
                  const std::uint64_t* const part = problem_->table.part(port.id().worker).data();
                  for (std::size_t i = 0; i < places.size(); ++i) values[i] = part[places[i]];
              },
              [this](auto& port, std::span<const std::uint32_t> positions,
                     std::span<const std::uint64_t> values) {
                  std::uint64_t* const own =
                      problem_->values[static_cast<std::size_t>(port.id().worker)].data();
                  for (std::size_t i = 0; i < positions.size(); ++i) own[positions[i]] = values[i];
              },
              with_choice(options.stream, choice)) {}

    void run() override {
        threads_.run([this](int worker) { read(worker); });
    }
    bool is_right() override { return problem_->take_values(); }
    std::optional<stream_statistics> statistics() const override { return stream_.statistics(); }
    std::optional<stream_scheme> scheme() const override { return stream_.scheme(); }
    void close() override { stream_.close(); }

  private:
    void read(int worker) {
        const shared_table& table = problem_->table;
        auto& port = stream_.port(worker);
        random_series draws = table.draws(worker);
        table.for_each_draw(draws, table.num_updates(),
                            [&](auto to, std::uint64_t place, std::uint64_t i) {
                                port.request(to, place, static_cast<std::uint32_t>(i));
                            });
        port.drain().wait();
    }

    std::shared_ptr<gather_problem> problem_;
    team threads_;
    request_stream<std::uint64_t, std::uint64_t, std::uint32_t> stream_;
};

}  // namespace

std::vector<entrant> index_gather_entrants(const context& where, const workload_options& options,
                                           const std::vector<stream_choice>& choices) {
    auto problem = std::make_shared<gather_problem>(where, options);
    std::vector<entrant> all;
    all.push_back({"alltoallv", {}, [&where, problem, options] {
                       return std::make_unique<gather_alltoallv>(where, problem, options);
                   }});
    for (const auto& choice : choices) {
        all.push_back({"stream", choice, [&where, problem, options, choice] {
                           return std::make_unique<gather_stream>(where, problem, options, choice);
                       }});
    }
    return all;
}

}  // namespace crossdock::bench::streaming
