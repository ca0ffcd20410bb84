#include "bench/array/contest.hpp"

#include "bench/common/all_ranks.hpp"

namespace crossdock::bench::array {

namespace {

// Runs a program over MPI and keeps what it asked for.
class recorder {
  public:
    recorder(const communicator& comm, const rank_work& work)
        : comm_(comm), work_(work), program_(make_program(work)) {}

    void run(contender& candidate) {
        program_->fill(candidate.entries());
        std::vector<value_t> replies;
        for (auto batch = next(candidate, replies); batch; batch = next(candidate, replies)) {
            replies.resize(batch->kind == request_traits::read ? batch->indices.size() : 0);
            candidate.run(*batch, replies);
            add(statistics_, candidate.statistics());
            batches_.push_back(std::move(*batch));
        }
        is_right_ = program_->outcome(candidate.entries()) == work_.expected;
    }

    bool is_right() const noexcept { return is_right_; }
    const array_statistics& statistics() const noexcept { return statistics_; }
    std::vector<request_batch> take_batches() { return std::move(batches_); }

  private:
    std::optional<request_batch> next(contender& candidate, std::span<const value_t> replies) {
        auto batch = program_->next(candidate.entries(), replies);
        const bool is_over =
            batch && batch->may_end && is_true_on_all(comm_, batch->indices.empty());
        return is_over ? std::nullopt : std::move(batch);
    }

    const communicator& comm_;
    const rank_work& work_;
    std::unique_ptr<rank_program> program_;
    std::vector<request_batch> batches_;
    array_statistics statistics_;
    bool is_right_ = false;
};

summary over_ranks(const communicator& comm, count_t number) {
    summary result{number, number, 0};
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &result.total, 1, MPI_INT64_T, MPI_SUM, comm.get()));
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &result.max, 1, MPI_INT64_T, MPI_MAX, comm.get()));
    result.mean = static_cast<double>(result.total) / comm.num_ranks();
    return result;
}

workload_counts count_over_ranks(const communicator& comm, const array_statistics& own) {
    return count_with(own.stages.size(),
                      [&](const count_of& number) { return over_ranks(comm, number(own)); });
}

// A series of rounds for each contender and phase.
class phase_record {
  public:
    explicit phase_record(std::size_t num_contenders) : rounds_(num_contenders) {}

    void keep(std::size_t c, const batch_seconds& s) {
        rounds_[c].push_back(
            {s.combine_locally, s.combine_on_the_way, s.write, s.read, s.split, s.communicate});
    }

    std::vector<phase_medians> medians(const communicator& comm) const {
        std::vector<phase_medians> result;
        for (const auto& rounds : rounds_) {
            std::vector<double> series;
            for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
                for (const auto& round : rounds) series.push_back(round[phase]);
            }
            const auto timings = slowest_of(comm, series, rounds.size());
            auto& medians = result.emplace_back();
            for (std::size_t phase = 0; phase < timings.size(); ++phase)
                medians[phase] = timings[phase].median;
        }
        return result;
    }

  private:
    std::vector<std::vector<phase_medians>> rounds_;  // in each, one round's numbers by phase
};

// All contenders, made, checked and ready to do the batches again.
class running_contest {
  public:
    running_contest(const communicator& comm, const rank_work& work,
                    const std::vector<entrant>& entrants)
        : comm_(comm) {
        for (const auto& who : entrants) {
            contenders_.push_back(who.make(work.owners.num_entries()));
            check(work, who);
        }
    }

    void time(const contest_options& options) {
        const auto keep = [](std::size_t) {};
        stopwatch(comm_, contenders_.size(), options.warm_ups)
            .time_in_turn(keep, [this](std::size_t c) { replay(c); });
        phase_record phases(contenders_.size());
        stopwatch watch(comm_, contenders_.size(), options.iterations);
        watch.time_in_turn(keep, [&](std::size_t c) { phases.keep(c, replay(c)); });

        const auto seconds = watch.slowest();
        const auto medians = phases.medians(comm_);
        for (std::size_t c = 0; c < contenders_.size(); ++c) {
            auto& one = result_.standings[c];
            one.seconds = seconds[c];
            if (one.who.is_counted) one.phases = medians[c];
        }
    }

    result finish() {
        for (const auto& one : contenders_) one->close();
        return std::move(result_);
    }

  private:
    void check(const rank_work& work, const entrant& who) {
        recorder run(comm_, work);
        run.run(*contenders_.back());
        check_result found{is_true_on_all(comm_, run.is_right()), {}};
        if (who.is_counted) found.counts = count_over_ranks(comm_, run.statistics());
        result_.standings.push_back({who, found, {}, {}});
        if (contenders_.size() > 1) return;
        batches_ = run.take_batches();
        for (const auto& batch : batches_) {
            const auto num_requests = static_cast<count_t>(batch.indices.size());
            result_.batches.push_back({batch.kind, over_ranks(comm_, num_requests).total});
        }
    }

    batch_seconds replay(std::size_t c) {
        batch_seconds seconds;
        for (const auto& batch : batches_) {
            replies_.resize(batch.kind == request_traits::read ? batch.indices.size() : 0);
            contenders_[c]->run(batch, replies_);
            seconds += contenders_[c]->statistics().seconds;
        }
        return seconds;
    }

    const communicator& comm_;
    std::vector<std::unique_ptr<contender>> contenders_;
    std::vector<request_batch> batches_;
    std::vector<value_t> replies_;
    result result_;
};

}  // namespace

result contest(const communicator& comm, const rank_work& work,
               const std::vector<entrant>& entrants, const contest_options& options) {
    running_contest all(comm, work, entrants);
    all.time(options);
    return all.finish();
}

}  // namespace crossdock::bench::array
