#include "tools/crossdock/round_ratio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace crossdock::tool {

namespace {

constexpr double least_gain = 1.05;
constexpr double confidence = 0.95;

// The largest k for which the median lies between the k-th least and the k-th largest of n numbers with the
// confidence; 0 if there is none. How many numbers are below the median has the binomial distribution of n and 1/2: the
// chances of k to n - k are added from the middle outwards.
std::size_t place_of_bound(std::size_t n) {
    const auto all = static_cast<double>(n);
    auto below = std::floor(all / 2);
    double chance = std::exp(std::lgamma(all + 1) - std::lgamma(below + 1) -
                             std::lgamma(all - below + 1) - all * std::numbers::ln2);
    double sum = n % 2 == 0 ? chance : 2 * chance;
    while (sum < confidence && below > 0) {
        chance *= below / (all - below + 1);
        --below;
        sum += 2 * chance;
    }
    return static_cast<std::size_t>(below);
}

decision judge_interval(const round_ratio::interval& where) {
    if (least_gain * where.upper <= 1) return decision::gain;
    return least_gain * where.lower > 1 ? decision::no_gain : decision::undecided;
}

}  // namespace

const char* to_string(decision found) {
    switch (found) {
        case decision::gain: return "gain";
        case decision::no_gain: return "no_gain";
        case decision::undecided: break;
    }
    return "undecided";
}

std::string round_ratio::text() const {
    if (!confident) return fmt::format("{:.2f}", median);
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", median, confident->lower, confident->upper);
}

json round_ratio::to_json() const {
    return {{"median", median},
            {"lower", confident ? json(confident->lower) : json()},
            {"upper", confident ? json(confident->upper) : json()},
            {"decision", to_string(found)}};
}

round_ratio compare_rounds(std::span<const double> seconds, std::span<const double> reference) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < seconds.size(); ++round) {
        const double other = reference[round];
        ratios.push_back(other > 0 ? seconds[round] / other : 1);  // the clock is too coarse
    }
    std::ranges::sort(ratios);
    const auto n = ratios.size();
    round_ratio result;
    result.median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
    if (const auto place = place_of_bound(n); place > 0) {
        result.confident = {ratios[place - 1], ratios[n - place]};
        result.found = judge_interval(*result.confident);
    }
    return result;
}

}  // namespace crossdock::tool
