#include "src/select/route_trials.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::route_trials_test {
namespace {

constexpr double us = 1e-6;
constexpr std::int64_t ps_per_us = 1'000'000;

using reports = std::vector<trial_report>;

route_choice choice_of(std::vector<candidate_price> candidates) { return {std::move(candidates)}; }

const route_choice three =
    choice_of({{"direct", 10 * us, ""}, {"two_step", 20 * us, ""}, {"hypercube", 25 * us, ""}});

// All exchanges of the current route take so long on all ranks.
void run_trial(route_trials& trials, double seconds, int num_exchanges = 8) {
    for (int k = 0; k < num_exchanges; ++k) trials.note(0, seconds);
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
    for (const double k : {8, 2, 7, 3, 6, 4, 5, 100}) trials.note(0, k * us);

    EXPECT_EQ(trials.report(), (reports{{8, 3 * ps_per_us, 135 * ps_per_us}}));

    route_trials one(three, {.exchanges_each = 1});
    one.note(0, 9 * us);
    EXPECT_EQ(one.report(), (reports{{1, 9 * ps_per_us, 9 * ps_per_us}}));
}

TEST(RouteTrials, FurtherExchangesAreNotCounted) {
    route_trials trials(three, {.exchanges_each = 2});
    for (const double k : {8, 2, 1, 1}) trials.note(0, k * us);

    EXPECT_EQ(trials.report(), (reports{{2, 2 * ps_per_us, 10 * ps_per_us}}));
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
    trials.note(0, 1 * us);
    trials.take({{1, 50 * ps_per_us, 50 * ps_per_us}});
    trials.note(0, 2 * us);
    trials.take({{1, 40 * ps_per_us, 40 * ps_per_us}});

    EXPECT_EQ(trials.winner(), 1U);
}

// Takes turns between two kinds of exchanges until the current route had enough of them.
void run_mixed_trial(route_trials& trials, double first, double second) {
    for (std::size_t k = 0; !trials.is_due(); ++k) trials.note(k % 2, k % 2 == 0 ? first : second);
    trials.take(trials.report());
}

TEST(RouteTrials, KindsAreJudgedAsOftenAsTheyOccur) {
    // The first route is the best of those that come first, and the second the best of all.
    route_trials trials(three, {.exchanges_each = 5});
    run_mixed_trial(trials, 10 * us, 30 * us);
    run_mixed_trial(trials, 12 * us, 15 * us);
    run_mixed_trial(trials, 11 * us, 29 * us);

    EXPECT_EQ(trials.winner(), 1U);
    // Five of the first kind and four of the second.
    EXPECT_EQ(trials.results(),
              (std::vector<tried_route>{{"direct", (5 * 10 + 4 * 30) * ps_per_us / 9 / 1e12},
                                        {"two_step", (5 * 12 + 4 * 15) * ps_per_us / 9 / 1e12},
                                        {"hypercube", (5 * 11 + 4 * 29) * ps_per_us / 9 / 1e12}}));
}

TEST(RouteTrials, EndAfterTwiceAsManyExchangesOfAllKinds) {
    route_trials trials(three, {.exchanges_each = 3});
    for (const std::size_t kind : {0, 1, 2, 3, 2}) {
        trials.note(kind, us);
        EXPECT_FALSE(trials.is_due());
    }
    trials.note(1, 4 * us);
    EXPECT_TRUE(trials.is_due());
    EXPECT_EQ(trials.report(), (reports{{1, ps_per_us, ps_per_us},
                                        {2, ps_per_us, 5 * ps_per_us},
                                        {2, ps_per_us, 2 * ps_per_us},
                                        {1, ps_per_us, ps_per_us}}));
}

TEST(RouteTrials, AKindThatARouteHasNotMetCountsAsOnTheLeader) {
    route_trials trials(three, {.exchanges_each = 2});
    for (const std::size_t kind : {1, 0, 1}) trials.note(kind, kind == 0 ? 7 * us : 4 * us);
    trials.take(trials.report());
    for (const std::size_t kind : {1, 2, 1}) trials.note(kind, kind == 2 ? 100 * us : 3 * us);
    trials.take(trials.report());
    for (int k = 0; k < 2; ++k) trials.note(0, 8 * us);
    trials.take(trials.report());

    EXPECT_EQ(trials.winner(), 1U);
    EXPECT_EQ(trials.results(),
              (std::vector<tried_route>{{"direct", (7 + 2 * 4) * ps_per_us / 3 / 1e12},
                                        {"two_step", (7 + 2 * 3) * ps_per_us / 3 / 1e12},
                                        {"hypercube", (8 + 2 * 3) * ps_per_us / 3 / 1e12}}));
}

TEST(RouteTrials, LossesAreOfAllKinds) {
    // Twice the estimate: the five of 10 and the four of 30 microseconds are expected to take 170 more.
    route_trials within(three, {.exchanges_each = 5, .max_lost_seconds = 171 * us});
    run_mixed_trial(within, 10 * us, 30 * us);
    EXPECT_EQ(within.current(), 1U);
    route_trials beyond(three, {.exchanges_each = 5, .max_lost_seconds = 169 * us});
    run_mixed_trial(beyond, 10 * us, 30 * us);
    EXPECT_EQ(beyond.winner(), 0U);
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
