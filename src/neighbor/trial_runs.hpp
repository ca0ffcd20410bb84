/// @file
/// @brief The plans that "auto:measure" tries.
#pragma once

#include <memory>
#include <vector>

#include "crossdock/detail/select/route_trials.hpp"
#include "plan_runner.hpp"

namespace crossdock {

/// @brief Trials over MPI: exchanges on the routes' plans, one after the other, timed.
///
/// An exchange takes the time that a rank spends in its start, its tests and its wait. Its kind is
/// its direction and the size of its items.
class trial_runs {
  public:
    /// @param runners  one for each candidate
    trial_runs(const communicator& comm, route_trials trials,
               std::vector<std::unique_ptr<plan_runner>> runners, const measure_options& options);

    plan_runner& current() noexcept { return *runners_[trials_.current()]; }
    const plan_runner& current() const noexcept { return *runners_[trials_.current()]; }

    /// @brief The fastest so far, or the best estimate.
    const plan_runner& leader() const noexcept { return *runners_[trials_.leader()]; }

    const route_trials& trials() const noexcept { return trials_; }

    /// @brief Between two exchanges; frees the plans that lost.
    /// @return the plan to keep, once that is decided
    /// @par Collective
    /// Yes; waits for all ranks where a route had its exchanges, else does nothing.
    std::unique_ptr<plan_runner> decide();

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
    std::vector<std::unique_ptr<plan_runner>> runners_;
    double (*clock_)();
    std::vector<exchange_kind>
        kinds_;                // in the order in which they came, which is that of all ranks
    std::size_t present_ = 0;  // of the exchange under way
    double seconds_ = 0;
};

}  // namespace crossdock
