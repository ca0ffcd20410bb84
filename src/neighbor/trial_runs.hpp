/// @file
/// @brief The plans that "auto:measure" tries.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "../base/collective_mpi.hpp"
#include "../select/route_trials.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

/// @brief The direction in which a plan is run.
enum class direction { forward, reverse };

/// @brief Trials over MPI: exchanges on the routes' plans, one after the other, timed.
///
/// An exchange takes the time that a rank spends in its start, its tests and its wait. Its kind is
/// its direction and the size of its items.
template <class Runner>
class trial_runs {
  public:
    /// @param runners  one for each candidate
    trial_runs(const communicator& comm, route_trials trials,
               std::vector<std::unique_ptr<Runner>> runners, const measure_options& options);

    Runner& current() noexcept { return *runners_[trials_.current()]; }
    const Runner& current() const noexcept { return *runners_[trials_.current()]; }

    /// @brief The fastest so far, or the best estimate.
    const Runner& leader() const noexcept { return *runners_[trials_.leader()]; }

    const route_trials& trials() const noexcept { return trials_; }

    /// @brief Between two exchanges; frees the plans that lost.
    /// @return the plan to keep, once that is decided
    /// @par Collective
    /// Yes; waits for all ranks where a route had its exchanges, else does nothing.
    std::unique_ptr<Runner> decide();

    /// @brief Begins an exchange.
    void begin(direction way, std::size_t item_bytes);

    /// @brief Does a part of it.
    template <class Part>
    decltype(auto) timed(Part&& part) {
        const stopped_time time(*this);
        return part();
    }

    /// @brief Ends it.
    void end();

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

    double now() const;

    communicator comm_;
    route_trials trials_;
    std::vector<std::unique_ptr<Runner>> runners_;
    double (*clock_)();
    std::vector<exchange_kind>
        kinds_;                // in the order in which they came, which is that of all ranks
    std::size_t present_ = 0;  // of the exchange under way
    double seconds_ = 0;
};

template <class Runner>
trial_runs<Runner>::trial_runs(const communicator& comm, route_trials trials,
                               std::vector<std::unique_ptr<Runner>> runners,
                               const measure_options& options)
    : comm_(comm),
      trials_(std::move(trials)),
      runners_(std::move(runners)),
      clock_(options.clock) {}

template <class Runner>
std::unique_ptr<Runner> trial_runs<Runner>::decide() {
    if (!trials_.is_due()) return nullptr;
    auto slowest = with_reserve([&] { return trials_.report(); });
    static_assert(sizeof(trial_report) == 3 * sizeof(std::int64_t));
    run_collective(comm_, [&](MPI_Request* reduction) {
        return MPI_Iallreduce(MPI_IN_PLACE, slowest.data(), checked_cast<int>(3 * slowest.size()),
                              MPI_INT64_T, MPI_MAX, comm_.get(), reduction);
    });
    trials_.take(std::move(slowest));
    const auto winner = trials_.winner();
    for (std::size_t c = 0; c < runners_.size(); ++c) {
        const bool is_tried = winner || c < trials_.current();
        if (is_tried && c != trials_.leader()) runners_[c].reset();
    }
    return winner ? std::move(runners_[*winner]) : nullptr;
}

template <class Runner>
void trial_runs<Runner>::begin(direction way, std::size_t item_bytes) {
    const exchange_kind kind{way, item_bytes};
    const auto known = std::find(kinds_.begin(), kinds_.end(), kind);
    present_ = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) append_with_reserve(kinds_, kind);
    seconds_ = 0;
}

template <class Runner>
void trial_runs<Runner>::end() {
    trials_.note(present_, seconds_);
}

template <class Runner>
double trial_runs<Runner>::now() const {
    if (clock_) return clock_();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace crossdock
