#include "crossdock/select/route_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "crossdock/base/picoseconds.hpp"

namespace crossdock {

namespace {

void check(const measure_options& options) {
    if (options.max_candidates < 1 || options.exchanges_each < 1 ||
        !(options.max_lost_seconds >= 0)) {
        throw error(
            errc::invalid_argument,
            fmt::format("{} candidates of {} exchanges each, and {} seconds to lose, are no trials",
                        options.max_candidates, options.exchanges_each, options.max_lost_seconds));
    }
}

std::vector<candidate_price> candidates_of(const route_choice& choice,
                                           const measure_options& options) {
    std::vector<candidate_price> found;
    const double most = choice.candidates.front().seconds * measure_options::most_estimate_ratio;
    for (const auto& candidate : choice.candidates) {
        if (candidate.seconds > most || std::cmp_equal(found.size(), options.max_candidates)) break;
        found.push_back(candidate);
    }
    return found;
}

}  // namespace

route_trials::route_trials(const route_choice& choice, const measure_options& options)
    : num_exchanges_(static_cast<std::size_t>(options.exchanges_each)),
      max_lost_seconds_(options.max_lost_seconds) {
    check(options);
    candidates_ = candidates_of(choice, options);
    if (candidates_.size() == 1) winner_ = 0;
}

void route_trials::note(double seconds) {
    if (!winner_ && !is_due()) seconds_.push_back(seconds);
}

trial_report route_trials::report() const {
    auto sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return {to_picoseconds(sorted[(sorted.size() - 1) / 4]),
            to_picoseconds(std::accumulate(sorted.begin(), sorted.end(), 0.0))};
}

void route_trials::take(const trial_report& slowest) {
    reports_.push_back(slowest);
    if (slowest.lower_quartile < reports_[leader_].lower_quartile) leader_ = current_;
    seconds_.clear();
    const std::size_t next = current_ + 1;
    if (next == candidates_.size() || lost_seconds() + expected_loss(next) > max_lost_seconds_) {
        winner_ = leader_;
    } else {
        current_ = next;
    }
}

double route_trials::lost_seconds() const {
    const auto best = reports_[leader_].lower_quartile * static_cast<std::int64_t>(num_exchanges_);
    double lost = 0;
    for (const auto& report : reports_)
        lost += to_seconds(std::max(report.sum - best, std::int64_t{0}));
    return lost;
}

// What is measured may be far from the estimates; that they are right about each other is assumed here.
double route_trials::expected_loss(std::size_t candidate) const {
    const double estimate = candidates_.front().seconds;
    if (estimate <= 0) return 0;
    const double expected =
        to_seconds(reports_.front().lower_quartile) * (candidates_[candidate].seconds / estimate);
    const double best = to_seconds(reports_[leader_].lower_quartile);
    return static_cast<double>(num_exchanges_) * std::max(expected - best, 0.0);
}

std::vector<tried_route> route_trials::results() const {
    std::vector<tried_route> all;
    for (std::size_t c = 0; c < reports_.size(); ++c)
        all.push_back({candidates_[c].route, to_seconds(reports_[c].lower_quartile)});
    return all;
}

}  // namespace crossdock
