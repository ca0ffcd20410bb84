#include "bench/stream/contest.hpp"

#include <type_traits>

#include "bench/common/all_ranks.hpp"

namespace crossdock::bench::streaming {

namespace {

stream_statistics over_ranks(const communicator& comm, const stream_statistics& own) {
    static_assert(std::is_trivially_copyable_v<stream_statistics>);
    std::vector<stream_statistics> all(static_cast<std::size_t>(comm.num_ranks()));
    CROSSDOCK_MPI(
        MPI_Gather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, 0, comm.get()));
    stream_statistics sum;
    for (const auto& one : all) sum += one;
    return sum;
}

std::optional<stream_statistics> over_ranks(const communicator& comm,
                                            const std::optional<stream_statistics>& own) {
    return own ? std::optional(over_ranks(comm, *own)) : std::nullopt;
}

// All contenders, made and checked.
class running_contest {
  public:
    running_contest(const communicator& comm, const std::vector<entrant>& entrants)
        : comm_(comm), counts_(entrants.size()) {
        for (const auto& who : entrants) {
            contenders_.push_back(who.make());
            check(who);
        }
    }

    void time(const contest_options& options) {
        const auto prepare = [this](std::size_t c) { contenders_[c]->prepare(); };
        stopwatch(comm_, contenders_.size(), options.warm_ups)
            .time_in_turn(prepare, [this](std::size_t c) { contenders_[c]->run(); });
        stopwatch watch(comm_, contenders_.size(), options.iterations);
        watch.time_in_turn(
            [&](std::size_t c) {
                keep_counts();
                prepare(c);
                last_ = c;
            },
            [this](std::size_t c) { contenders_[c]->run(); });
        keep_counts();
        const auto seconds = watch.slowest();
        for (std::size_t c = 0; c < seconds.size(); ++c) {
            standings_[c].seconds = seconds[c];
            standings_[c].counts = average(counts_[c], options.iterations);
        }
    }

    std::vector<standing> finish() {
        for (const auto& one : contenders_) one->close();
        contenders_.clear();
        return std::move(standings_);
    }

  private:
    void check(const entrant& who) {
        contender& one = *contenders_.back();
        one.prepare();
        one.run();
        standing::check_result found{is_true_on_all(comm_, one.is_right()), one.scheme(),
                                     over_ranks(comm_, one.statistics())};
        standings_.push_back({who, std::move(found), {}, {}, {}});
    }

    // Of the run before, which is over only now that nobody is timed.
    void keep_counts() {
        if (!last_) return;
        const work_counts run = contenders_[*last_]->counts();
        work_counts& all = counts_[*last_];
        all = {all.wasted + run.wasted, all.superseded + run.superseded,
               all.rejected + run.rejected};
        last_.reset();
    }

    work_counts average(const work_counts& own, int num_runs) const {
        const auto sums = sum_over_ranks(comm_, {own.wasted, own.superseded, own.rejected, 0});
        return {sums[0] / num_runs, sums[1] / num_runs, sums[2] / num_runs};
    }

    const communicator& comm_;
    std::vector<std::unique_ptr<contender>> contenders_;
    std::vector<standing> standings_;
    std::vector<work_counts> counts_;
    std::optional<std::size_t> last_;  // whose counts have not been kept
};

latency_result measure_latency(const communicator& comm, const standing& one,
                               const contest_options& options) {
    latency_result result;
    if (comm.rank() == 0)
        result.items_per_second =
            options.rate * static_cast<double>(options.num_items) / one.seconds.median;
    CROSSDOCK_MPI(MPI_Bcast(&result.items_per_second, 1, MPI_DOUBLE, 0, comm.get()));
    const auto paced = one.who.make_paced();
    paced->prepare();
    paced->clear();
    paced->run_paced(result.items_per_second / static_cast<double>(options.num_workers));
    result.is_verified = is_true_on_all(comm, paced->is_right());
    result.statistics = over_ranks(comm, paced->statistics().value());
    paced->close();
    return result;
}

}  // namespace

std::vector<standing> contest(const communicator& comm, const std::vector<entrant>& entrants,
                              const contest_options& options) {
    running_contest all(comm, entrants);
    all.time(options);
    auto standings = all.finish();
    for (auto& one : standings) {
        if (options.rate > 0 && one.who.make_paced)
            one.latency = measure_latency(comm, one, options);
    }
    return standings;
}

}  // namespace crossdock::bench::streaming
