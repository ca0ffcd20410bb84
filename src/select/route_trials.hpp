// Trying a few routes, and keeping the fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crossdock/route_choice.hpp"

namespace crossdock {

/// @brief How long a route's exchanges of one kind took in its trial.
struct trial_report {
    std::int64_t exchanges = 0;
    std::int64_t lower_quartile = 0;  ///< picoseconds; a quarter of the exchanges took no longer
    std::int64_t sum = 0;             ///< picoseconds of all of them

    friend bool operator==(const trial_report&, const trial_report&) = default;
};

/// @brief The course of the trials, decided by numbers that all ranks have alike.
///
///     while (!trials.winner()) {
///         ... exchange on trials.current(); trials.note(kind, seconds);      until trials.is_due()
///         trials.take(maxima over all ranks of trials.report());
///     }
///
/// Exchanges of one *kind* have one direction and one size of items. The kinds of the first trial
/// are judged, each as often as it occurred there. One that a later trial has not met counts as if
/// it took as long as on the leader.
///
///     first trial     5 forward at 10, 4 reverse at 30     total 5 * 10 + 4 * 30 = 170
///     second trial    5 forward at 12, 4 reverse at 15     total 5 * 12 + 4 * 15 = 120: leads
///
/// | state | legal calls | next |
/// |---|---|---|
/// | trying | `note` | due once the route had its exchanges |
/// | due | `report`, `take` | trying the next route, or decided |
/// | decided | `winner`, `results` | |
class route_trials {
  public:
    /// @param choice   at least one candidate
    /// @throws error(errc::invalid_argument)  an option's number is below 1, or negative
    route_trials(const route_choice& choice, const measure_options& options);

    /// @brief Those that may be tried, the best estimate first.
    const std::vector<candidate_price>& candidates() const noexcept { return candidates_; }

    /// @brief Index of the route to exchange on.
    std::size_t current() const noexcept { return current_; }

    /// @brief Index of the fastest so far, or of the best estimate.
    std::size_t leader() const noexcept { return leader_; }

    /// @brief How long an exchange on the current route took on this rank.
    /// @param kind  a number, from 0 on in the order in which kinds come
    void note(std::size_t kind, double seconds);

    bool is_due() const noexcept;

    /// @brief This rank's report of the current route, by kind.
    std::vector<trial_report> report() const;

    /// @brief Goes on to the next route or decides; of equals the one with the better estimate
    /// wins.
    /// @param slowest  the maxima over all ranks
    void take(std::vector<trial_report> slowest);

    /// @brief Index of the route to keep, once that is decided.
    std::optional<std::size_t> winner() const noexcept { return winner_; }

    /// @brief The routes tried so far, in the order of the trials.
    std::vector<tried_route> results() const;

  private:
    std::int64_t total(std::size_t candidate) const;
    double lost_seconds() const;
    double expected_loss(std::size_t candidate) const;

    std::vector<candidate_price> candidates_;
    std::size_t num_exchanges_;
    double max_lost_seconds_;
    std::vector<std::vector<double>> seconds_;        // of the current one's exchanges, by kind
    std::vector<std::vector<trial_report>> reports_;  // of all ranks, by candidate and kind
    std::size_t current_ = 0;
    std::size_t leader_ = 0;
    std::optional<std::size_t> winner_;
};

}  // namespace crossdock
