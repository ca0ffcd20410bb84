#include "src/route/balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/least_maximum.hpp"

namespace crossdock::balance_test {
namespace {

using counts = std::vector<count_t>;

count_t fullest_bin(const counts& volumes, const std::vector<int>& bins, int num_bins) {
    counts loads(static_cast<std::size_t>(num_bins));
    for (std::size_t i = 0; i < volumes.size(); ++i)
        loads[static_cast<std::size_t>(bins[i])] += volumes[i];
    return *std::max_element(loads.begin(), loads.end());
}

void expect_balanced(const counts& volumes, int num_bins) {
    const auto bins = balance(volumes, num_bins);
    ASSERT_EQ(bins.size(), volumes.size());
    for (const int bin : bins) {
        ASSERT_GE(bin, 0);
        ASSERT_LT(bin, num_bins);
    }
    EXPECT_TRUE(test::is_balanced(fullest_bin(volumes, bins, num_bins), volumes, num_bins))
        << testing::PrintToString(volumes) << " over " << num_bins;
}

TEST(Balance, AssignsNothingToNothing) { EXPECT_EQ(balance({}, 3), std::vector<int>{}); }

TEST(Balance, PutsAllIntoASingleBin) {
    EXPECT_EQ(balance(counts{3, 0, 5}, 1), (std::vector<int>{0, 0, 0}));
}

TEST(Balance, ImprovesOnLargestFirst) {
    const counts volumes{9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5};  // largest first fills a bin with 19

    EXPECT_LE(fullest_bin(volumes, balance(volumes, 5), 5), 16);
}

TEST(BalanceMessages, GivesEachRankAsManyShortMessagesAndAsManyItemsOfLongOnes) {
    const auto num_messages = [](const counts& num_items) {
        std::vector<int> of_rank(2);
        for (const int rank : balance_messages(num_items, 2))
            ++of_rank[static_cast<std::size_t>(rank)];
        std::ranges::sort(of_rank);
        return of_rank;
    };

    EXPECT_EQ(num_messages({100, 1, 1, 1, 1, 1}), (std::vector<int>{3, 3}));
    EXPECT_EQ(num_messages({100000, 1, 1, 1, 1, 1}), (std::vector<int>{1, 5}));
}

TEST(Balance, IsWithinAQuarterOfTheMeanWhereverThatIsPossibleForAllSmallVolumes) {
    constexpr std::size_t num_volumes = 6;
    constexpr count_t largest = 7;
    counts volumes(num_volumes, 0);
    while (true) {
        for (const int num_bins : {2, 3, 4}) expect_balanced(volumes, num_bins);
        auto next = std::find_if(volumes.rbegin(), volumes.rend(),
                                 [](count_t volume) { return volume < largest; });
        if (next == volumes.rend()) break;
        std::fill(next.base() - 1, volumes.end(), *next + 1);
    }
}

TEST(Balance, IsWithinAQuarterOfTheMeanWhereverThatIsPossibleForRandomVolumes) {
    std::mt19937_64 random(1);
    for (int repeat = 0; repeat < 2000; ++repeat) {
        const int num_bins = static_cast<int>(2 + random() % 5);
        counts volumes(2 + random() % 11);
        const auto limit = std::uint64_t{2} << (random() % 10);
        for (auto& volume : volumes) volume = static_cast<count_t>(random() % limit);

        expect_balanced(volumes, num_bins);
    }
}

TEST(Balance, IsWithinAQuarterOfTheLargerOfMeanAndLargestForManyVolumes) {
    std::mt19937_64 random(2);
    for (const int num_bins : {2, 16, 48, 128}) {
        counts volumes(1000);
        for (auto& volume : volumes) volume = count_t{1} << (random() % 12);

        const auto bins = balance(volumes, num_bins);

        const count_t sum = std::accumulate(volumes.begin(), volumes.end(), count_t{0});
        const count_t largest = *std::max_element(volumes.begin(), volumes.end());
        const count_t fullest = fullest_bin(volumes, bins, num_bins);
        EXPECT_LE(4 * num_bins * fullest, 5 * std::max(sum, num_bins * largest)) << num_bins;
    }
}

}  // namespace
}  // namespace crossdock::balance_test
