#include "fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "crossdock/error.hpp"

namespace crossdock {

namespace {

// What the second protocol must save of the sum of errors to be one.
constexpr double least_saving = 0.2;
// Errors below this share are those of arithmetic.
constexpr double exact_error = 1e-9;
// A line through fewer is no sign of a protocol.
constexpr std::size_t least_samples = 3;

void require_samples(bool is_there) {
    if (!is_there) throw error(errc::invalid_argument, "a fit needs at least one sample");
}

double relative_error(const cost_line& line, const timed_amount& sample) {
    return std::abs(line.at(sample.amount) - sample.seconds) / sample.seconds;
}

double sum_of_errors(const cost_line& line, std::span<const timed_amount> samples) {
    double sum = 0;
    for (const auto& sample : samples) sum += relative_error(line, sample);
    return sum;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The best of the lines that are offered.
class best_line {
  public:
    best_line(std::span<const timed_amount> samples, double least_start)
        : samples_(samples), least_start_(least_start) {}

    void offer(const cost_line& line) {
        if (!(line.start_seconds >= least_start_ && line.slope_seconds >= 0)) return;
        const double sum = sum_of_errors(line, samples_);
        if (sum >= least_sum_) return;
        least_sum_ = sum;
        line_ = line;
    }

    const cost_line& line() const noexcept { return line_; }

  private:
    std::span<const timed_amount> samples_;
    double least_start_;
    double least_sum_ = std::numeric_limits<double>::infinity();
    cost_line line_;
};

// A least sum of distances is at a corner: two samples, or one and a limit, are met exactly.
cost_line line_through(std::span<const timed_amount> samples, double least_start) {
    best_line best(samples, least_start);
    best.offer({least_start, 0});
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& a = samples[i];
        best.offer({a.seconds, 0});
        if (a.amount > 0) best.offer({least_start, (a.seconds - least_start) / a.amount});
        for (std::size_t j = i + 1; j < samples.size(); ++j) {
            const auto& b = samples[j];
            if (a.amount == b.amount) continue;
            const double slope = (b.seconds - a.seconds) / (b.amount - a.amount);
            best.offer({a.seconds - slope * a.amount, slope});
        }
    }
    return best.line();
}

double median_error(const protocols_fit& fit, std::span<const timed_amount> samples) {
    std::vector<double> errors;
    for (const auto& sample : samples) {
        const bool is_eager = sample.amount <= fit.last_eager_amount;
        errors.push_back(relative_error(is_eager ? fit.eager : fit.rendezvous, sample));
    }
    return median(std::move(errors));
}

}  // namespace

line_fit fit_line(std::span<const timed_amount> samples, double least_start) {
    require_samples(!samples.empty());
    line_fit result{line_through(samples, least_start), 0};
    std::vector<double> errors;
    for (const auto& sample : samples) errors.push_back(relative_error(result.line, sample));
    result.relative_error = median(std::move(errors));
    return result;
}

protocols_fit fit_protocols(std::span<const timed_amount> samples) {
    require_samples(!samples.empty());
    std::vector<timed_amount> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.amount < b.amount; });
    const std::span<const timed_amount> all(sorted);

    protocols_fit best;
    best.eager = best.rendezvous = line_through(all, 0);
    best.last_eager_amount = sorted.back().amount;
    const double one_line_sum = sum_of_errors(best.eager, all);
    const bool is_exact = one_line_sum <= exact_error * static_cast<double>(sorted.size());
    double least_sum = is_exact ? 0 : (1 - least_saving) * one_line_sum;
    for (std::size_t k = least_samples; k + least_samples <= sorted.size(); ++k) {
        if (sorted[k - 1].amount == sorted[k].amount) continue;
        const auto eager = line_through(all.first(k), 0);
        const auto rendezvous = line_through(all.subspan(k), eager.start_seconds);
        const double sum =
            sum_of_errors(eager, all.first(k)) + sum_of_errors(rendezvous, all.subspan(k));
        if (sum >= least_sum) continue;
        least_sum = sum;
        best = {eager, rendezvous, sorted[k - 1].amount, 0};
    }
    best.relative_error = median_error(best, all);
    return best;
}

double lower_quartile(std::vector<double> seconds) {
    require_samples(!seconds.empty());
    const auto place = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
    std::nth_element(seconds.begin(), place, seconds.end());
    return *place;
}

}  // namespace crossdock
