#include "crossdock/select/route_trials.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::route_trials_test {
namespace {

constexpr double us = 1e-6;
constexpr std::int64_t ps_per_us = 1'000'000;

route_choice choice_of(std::vector<candidate_price> candidates) { return {std::move(candidates)}; }

const route_choice three =
    choice_of({{"direct", 10 * us, ""}, {"two_step", 20 * us, ""}, {"hypercube", 25 * us, ""}});

// All exchanges of the current route take so long on all ranks.
void run_trial(route_trials& trials, double seconds, int num_exchanges = 8) {
    for (int k = 0; k < num_exchanges; ++k) trials.note(seconds);
    ASSERT_TRUE(trials.is_due());
    trials.take(trials.report());
}

TEST(RouteTrials, TheFastestWinsWhateverTheEstimatesSaid) {
    route_trials trials(three, {});

    run_trial(trials, 30 * us);
    EXPECT_FALSE(trials.winner());
    EXPECT_EQ(trials.current(), 1U);
    run_trial(trials, 20 * us);
    EXPECT_EQ(trials.leader(), 1U);
    EXPECT_EQ(trials.current(), 2U);
    run_trial(trials, 25 * us);

    EXPECT_EQ(trials.winner(), 1U);
    EXPECT_EQ(trials.results(),
              (std::vector<tried_route>{
                  {"direct", 30e6 / 1e12}, {"two_step", 20e6 / 1e12}, {"hypercube", 25e6 / 1e12}}));
}

TEST(RouteTrials, OfEqualsTheBetterEstimateWins) {
    route_trials trials(three, {});
    for (int c = 0; c < 3; ++c) run_trial(trials, 5 * us);

    EXPECT_EQ(trials.winner(), 0U);
}

TEST(RouteTrials, OnlyCandidatesWithinThreeTimesTheBestAreTried) {
    const auto choice = choice_of({{"direct", 10 * us, ""},
                                   {"two_step", 30 * us, ""},
                                   {"three_step", 30.1 * us, ""},
                                   {"grid:2", 40 * us, ""}});

    EXPECT_EQ(route_trials(choice, {}).candidates().size(), 2U);
    EXPECT_EQ(route_trials(three, {}).candidates().size(), 3U);
    EXPECT_EQ(route_trials(three, {.max_candidates = 2}).candidates().size(), 2U);
}

TEST(RouteTrials, ALoneCandidateIsNotTried) {
    EXPECT_EQ(route_trials(three, {.max_candidates = 1}).winner(), 0U);
    EXPECT_EQ(route_trials(choice_of({{"direct", 0, ""}}), {}).winner(), 0U);
}

TEST(RouteTrials, AQuarterOfTheExchangesTookNoLongerThanTheLowerQuartile) {
    route_trials trials(three, {});
    for (const double k : {8, 2, 7, 3, 6, 4, 5, 100}) trials.note(k * us);

    EXPECT_EQ(trials.report(), (trial_report{3 * ps_per_us, 135 * ps_per_us}));

    route_trials one(three, {.exchanges_each = 1});
    one.note(9 * us);
    EXPECT_EQ(one.report(), (trial_report{9 * ps_per_us, 9 * ps_per_us}));
}

TEST(RouteTrials, FurtherExchangesAreNotCounted) {
    route_trials trials(three, {.exchanges_each = 2});
    for (const double k : {8, 2, 1, 1}) trials.note(k * us);

    EXPECT_EQ(trials.report(), (trial_report{2 * ps_per_us, 10 * ps_per_us}));
}

TEST(RouteTrials, EndWhereTheNextWouldLoseTooMuch) {
    // Eight exchanges of 20 in place of 10 microseconds are 80 too many.
    route_trials within(three, {.max_lost_seconds = 81 * us});
    run_trial(within, 10 * us);
    EXPECT_EQ(within.current(), 1U);
    route_trials beyond(three, {.max_lost_seconds = 79 * us});
    run_trial(beyond, 10 * us);
    EXPECT_EQ(beyond.winner(), 0U);
    EXPECT_EQ(beyond.results().size(), 1U);
}

TEST(RouteTrials, EndWhereTrialsHaveLostTooMuch) {
    // The second is slower than expected: 400 microseconds are lost, and the third is expected to lose 120.
    route_trials beyond(three, {.max_lost_seconds = 519 * us});
    run_trial(beyond, 10 * us);
    run_trial(beyond, 60 * us);
    EXPECT_EQ(beyond.winner(), 0U);
    route_trials within(three, {.max_lost_seconds = 521 * us});
    run_trial(within, 10 * us);
    run_trial(within, 60 * us);
    EXPECT_FALSE(within.winner());
    run_trial(within, 9 * us);
    EXPECT_EQ(within.winner(), 2U);
}

TEST(RouteTrials, TimesOfTheSlowestRankDecide) {
    route_trials trials(three, {.max_candidates = 2, .exchanges_each = 1});
    trials.note(1 * us);
    trials.take({50 * ps_per_us, 50 * ps_per_us});
    trials.note(2 * us);
    trials.take({40 * ps_per_us, 40 * ps_per_us});

    EXPECT_EQ(trials.winner(), 1U);
}

TEST(RouteTrials, NumbersThatMakeNoTrialAreRefused) {
    for (const measure_options& options :
         {measure_options{.max_candidates = 0}, measure_options{.exchanges_each = 0},
          measure_options{.max_lost_seconds = -1}}) {
        const error fault = test::thrown_by([&] { route_trials(three, options); });
        EXPECT_EQ(fault.code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace crossdock::route_trials_test
