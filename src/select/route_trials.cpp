#include "route_trials.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "../base/throw_error.hpp"
#include "crossdock/detail/base/picoseconds.hpp"

namespace crossdock {

namespace {

void check(const measure_options& options) {
    if (options.max_candidates < 1 || options.exchanges_each < 1 ||
        !(options.max_lost_seconds >= 0)) {
        throw_error(errc::invalid_argument,
                    "max_candidates is {}, exchanges_each {} and max_lost_seconds {}; the least "
                    "are 1, 1 and 0",
                    options.max_candidates, options.exchanges_each, options.max_lost_seconds);
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

void route_trials::note(std::size_t kind, double seconds) {
    if (winner_ || is_due()) return;
    if (kind >= seconds_.size()) seconds_.resize(kind + 1);
    seconds_[kind].push_back(seconds);
}

bool route_trials::is_due() const noexcept {
    if (winner_) return false;
    std::size_t most = 0, all = 0;
    for (const auto& of_kind : seconds_) {
        most = std::max(most, of_kind.size());
        all += of_kind.size();
    }
    return most == num_exchanges_ || all == 2 * num_exchanges_;
}

std::vector<trial_report> route_trials::report() const {
    std::vector<trial_report> result;
    for (auto sorted : seconds_) {
        trial_report& of_kind = result.emplace_back();
        if (sorted.empty()) continue;
        std::sort(sorted.begin(), sorted.end());
        of_kind = {static_cast<std::int64_t>(sorted.size()),
                   to_picoseconds(sorted[(sorted.size() - 1) / 4]),
                   to_picoseconds(std::accumulate(sorted.begin(), sorted.end(), 0.0))};
    }
    return result;
}

void route_trials::take(std::vector<trial_report> slowest) {
    reports_.push_back(std::move(slowest));
    auto& own = reports_.back();
    own.resize(reports_.front().size());
    for (std::size_t kind = 0; kind < own.size(); ++kind) {
        if (own[kind].exchanges == 0)
            own[kind].lower_quartile = reports_[leader_][kind].lower_quartile;
    }
    if (total(current_) < total(leader_)) leader_ = current_;
    seconds_.clear();
    const std::size_t next = current_ + 1;
    if (next == candidates_.size() || lost_seconds() + expected_loss(next) > max_lost_seconds_) {
        winner_ = leader_;
    } else {
        current_ = next;
    }
}

// As long as the exchanges of the first trial take on a candidate, in picoseconds.
std::int64_t route_trials::total(std::size_t candidate) const {
    const auto& own = reports_[candidate];
    return std::transform_reduce(own.begin(), own.end(), reports_.front().begin(), std::int64_t{0},
                                 std::plus<>(), [](const auto& found, const auto& first) {
                                     return found.lower_quartile * first.exchanges;
                                 });
}

double route_trials::lost_seconds() const {
    const auto& best = reports_[leader_];
    double all = 0;
    for (const auto& report : reports_) {
        std::int64_t lost = 0;
        for (std::size_t kind = 0; kind < report.size(); ++kind)
            lost += report[kind].sum - report[kind].exchanges * best[kind].lower_quartile;
        all += to_seconds(std::max(lost, std::int64_t{0}));
    }
    return all;
}

// What is measured may be far from the estimates; that they are right about each other is assumed
// here.
double route_trials::expected_loss(std::size_t candidate) const {
    const double estimate = candidates_.front().seconds;
    if (estimate <= 0) return 0;
    const double expected = to_seconds(total(0)) * (candidates_[candidate].seconds / estimate);
    return std::max(expected - to_seconds(total(leader_)), 0.0);
}

std::vector<tried_route> route_trials::results() const {
    std::vector<tried_route> all;
    std::int64_t exchanges = 0;
    if (!reports_.empty())
        for (const auto& of_kind : reports_.front()) exchanges += of_kind.exchanges;
    for (std::size_t c = 0; c < reports_.size(); ++c)
        all.push_back({candidates_[c].route, to_seconds(total(c) / exchanges)});
    return all;
}

}  // namespace crossdock
