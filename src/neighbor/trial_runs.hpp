// The plans of an object: one, or those that "auto:measure" tries.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../base/collective_mpi.hpp"
#include "../select/route_trials.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

/// @brief The direction in which a plan is run.
enum class direction { forward, reverse };

/// @brief One plan that is kept; or trials over MPI: exchanges on the routes' plans, one after the other, timed.
///
/// An exchange takes the time that a rank spends in its start, its tests and its wait. Its kind is
/// its direction and the size of its items.
template <class Runner>
class trial_runs {
  public:
    /// @param choice   what the plan's route was chosen from, or null
    /// @param results  of trials that have led to it
    explicit trial_runs(std::unique_ptr<Runner> only,
                        std::shared_ptr<const route_choice> choice = nullptr,
                        std::vector<tried_route> results = {})
        : choice_(std::move(choice)), results_(std::move(results)) {
        with_reserve([&] { runners_.push_back(std::move(only)); });
        current_ = runners_.front().get();
    }
    /// @param runners  one for each candidate
    trial_runs(const communicator& comm, route_trials trials,
               std::vector<std::unique_ptr<Runner>> runners, const measure_options& options,
               std::shared_ptr<const route_choice> choice)
        : choice_(std::move(choice)),
          comm_(comm),
          trials_(std::move(trials)),
          runners_(std::move(runners)),
          current_(runners_[trials_->current()].get()),
          clock_(options.clock) {}

    /// @brief During trials it may be another one after every start.
    Runner& current() const noexcept { return *current_; }

    /// @brief The fastest so far, or the best estimate.
    const Runner& leader() const noexcept {
        return trials_ ? *runners_[trials_->leader()] : *current_;
    }

    const std::shared_ptr<const route_choice>& choice() const noexcept { return choice_; }
    bool is_trying() const noexcept { return trials_.has_value(); }
    /// @brief The routes tried so far, in the order of the trials.
    std::vector<tried_route> results() const { return trials_ ? trials_->results() : results_; }

    /// @brief Between two exchanges; frees the plans that lost.
    /// Collective; waits for all ranks where a route had its exchanges, else does nothing.
    void decide() {
        if (trials_ && trials_->is_due()) take_reports();
    }

    /// @brief Begins an exchange.
    void begin(direction way, std::size_t item_bytes) {
        if (!trials_) return;
        const exchange_kind kind{way, item_bytes};
        const auto known = std::find(kinds_.begin(), kinds_.end(), kind);
        present_ = static_cast<std::size_t>(known - kinds_.begin());
        if (known == kinds_.end()) append_with_reserve(kinds_, kind);
        seconds_ = 0;
    }

    /// @brief Does a part of it.
    template <class Part>
    decltype(auto) timed(Part&& part) {
        if (!trials_) return part();
        const stopped_time time(*this);
        return part();
    }

    /// @brief Ends it.
    void end() {
        if (trials_) trials_->note(present_, seconds_);
    }

  private:
    // Adds to the exchange's seconds at the end of its life.
    class stopped_time {
      public:
        explicit stopped_time(trial_runs& of) : of_(of), begin_(of.now()) {}
        ~stopped_time() { of_.seconds_ += of_.now() - begin_; }
        stopped_time(const stopped_time&) = delete;
        stopped_time& operator=(const stopped_time&) = delete;

      private:
        trial_runs& of_;
        double begin_;
    };
    struct exchange_kind {
        direction way;
        std::size_t item_bytes;

        friend bool operator==(const exchange_kind&, const exchange_kind&) = default;
    };

    void take_reports();
    double now() const {
        if (clock_) return clock_();
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    std::shared_ptr<const route_choice> choice_;
    std::vector<tried_route> results_;
    std::optional<communicator> comm_;    // of trials
    std::optional<route_trials> trials_;  // until they are decided
    std::vector<std::unique_ptr<Runner>> runners_;
    Runner* current_;
    double (*clock_)() = nullptr;
    std::vector<exchange_kind>
        kinds_;                // in the order in which they came, which is that of all ranks
    std::size_t present_ = 0;  // of the exchange under way
    double seconds_ = 0;
};

template <class Runner>
void trial_runs<Runner>::take_reports() {
    auto slowest = with_reserve([&] { return trials_->report(); });
    static_assert(sizeof(trial_report) == 3 * sizeof(std::int64_t));
    allreduce(*comm_, slowest.data(), 3 * slowest.size(), MPI_INT64_T, MPI_MAX);
    trials_->take(std::move(slowest));
    const auto winner = trials_->winner();
    for (std::size_t c = 0; c < runners_.size(); ++c) {
        const bool is_tried = winner || c < trials_->current();
        if (is_tried && c != trials_->leader()) runners_[c].reset();
    }
    current_ = runners_[winner.value_or(trials_->current())].get();
    if (!winner) return;
    results_ = with_reserve([&] { return trials_->results(); });
    trials_.reset();
}

}  // namespace crossdock
