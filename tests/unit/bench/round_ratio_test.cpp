#include "tools/crossdock/round_ratio.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace crossdock::tool::round_ratio_test {
namespace {

// `first`, `first + 1`, ... times a thousandth.
std::vector<double> thousandths(std::size_t n, double first) {
    std::vector<double> numbers(n);
    std::iota(numbers.begin(), numbers.end(), first);
    for (double& one : numbers) one /= 1000;
    return numbers;
}

round_ratio compare_with_ones(const std::vector<double>& seconds) {
    return compare_rounds(seconds, std::vector<double>(seconds.size(), 1.0));
}

TEST(RoundRatio, IsThatOfTimesInTheSameRound) {
    const std::vector<double> mpi{1, 10, 2, 20, 1, 10, 4};
    const std::vector<double> route{0.5, 5, 1, 10, 0.5, 5, 2};

    const auto found = compare_rounds(route, mpi);

    EXPECT_EQ(found.median, 0.5);
    EXPECT_EQ(found.confident->lower, 0.5);
    EXPECT_EQ(found.confident->upper, 0.5);
    EXPECT_STREQ(to_string(found.found), "gain");
    EXPECT_EQ(found.text(), "0.50 (0.50 to 0.50)");
}

// The places are those of tables of the sign test, 5 % two-sided: 0 of 6, 1 of 10, 39 of 100 below.
TEST(RoundRatio, TheIntervalIsThatOfTheSignTest) {
    struct {
        std::size_t rounds;
        std::size_t below;
    } const cases[] = {{6, 0},  {8, 0},  {9, 1},  {10, 1},   {11, 1},
                       {12, 2}, {20, 5}, {25, 7}, {100, 39}, {1000, 468}};
    for (const auto& [rounds, below] : cases) {
        const auto numbers = thousandths(rounds, 1);

        const auto found = compare_with_ones(numbers);

        ASSERT_TRUE(found.confident) << rounds;
        EXPECT_EQ(found.confident->lower, numbers[below]) << rounds;
        EXPECT_EQ(found.confident->upper, numbers[rounds - 1 - below]) << rounds;
        EXPECT_DOUBLE_EQ(found.median, (1 + static_cast<double>(rounds)) / 2000) << rounds;
    }
}

TEST(RoundRatio, FewerThanSixRoundsDecideNothing) {
    for (std::size_t rounds = 1; rounds < 6; ++rounds) {
        const auto found = compare_with_ones(std::vector<double>(rounds, 0.5));

        EXPECT_EQ(found.median, 0.5);
        EXPECT_FALSE(found.confident);
        EXPECT_STREQ(to_string(found.found), "undecided");
        EXPECT_EQ(found.text(), "0.50");
        EXPECT_EQ(found.to_json().dump(),
                  R"({"median":0.5,"lower":null,"upper":null,"decision":"undecided"})");
    }
}

// Of six rounds the interval is from the least to the largest.
TEST(RoundRatio, AGainIsFivePercentAtTheUpperEnd) {
    const auto judged = [](double lower, double upper) {
        return to_string(compare_with_ones({lower, lower, lower, upper, upper, upper}).found);
    };

    EXPECT_STREQ(judged(0.5, 1 / 1.06), "gain");
    EXPECT_STREQ(judged(0.5, 1 / 1.04), "undecided");
    EXPECT_STREQ(judged(0.94, 1.2), "undecided");
    EXPECT_STREQ(judged(1 / 1.04, 0.99), "no_gain");
    EXPECT_STREQ(judged(0.98, 1.02), "no_gain");
    EXPECT_STREQ(judged(1.2, 3), "no_gain");
}

TEST(RoundRatio, WhatDisturbsARoundDisturbsBoth) {
    std::vector<double> mpi;
    std::vector<double> route;
    for (int round = 0; round < 20; ++round) {
        mpi.push_back(round % 2 == 0 ? 10.0 : 50.0);
        route.push_back(0.75 * mpi.back());
    }

    EXPECT_EQ(compare_rounds(route, mpi).to_json().dump(),
              R"({"median":0.75,"lower":0.75,"upper":0.75,"decision":"gain"})");
}

TEST(RoundRatio, AClockThatIsTooCoarseSaysNothingOfARound) {
    EXPECT_EQ(compare_rounds(std::vector<double>(6, 1e-9), std::vector<double>(6, 0.0)).median, 1);
}

}  // namespace
}  // namespace crossdock::tool::round_ratio_test
