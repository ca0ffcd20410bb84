#include "src/stream/latency_sampler.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crossdock::latency_sampler_test {
namespace {

constexpr std::uint32_t none = latency_sampler::none;

TEST(LatencySampler, PlansEveryFifthPushWhereverBuffersEnd) {
    latency_sampler sampler(5);

    std::vector<std::uint32_t> planned;
    for (int buffer = 0; buffer < 5; ++buffer) planned.push_back(sampler.plan(3));

    EXPECT_EQ(planned, (std::vector<std::uint32_t>{none, 1, none, 0, 2}));
}

TEST(LatencySampler, PlansAtMostOnePushOfABuffer) {
    latency_sampler sampler(2);

    EXPECT_EQ(sampler.plan(5), 1U);
    EXPECT_EQ(sampler.plan(5), 0U);
    EXPECT_EQ(sampler.plan(5), 0U);
}

TEST(LatencySampler, WithoutAnIntervalPlansNothing) {
    latency_sampler sampler(0);

    EXPECT_EQ(sampler.plan(1000), none);
    sampler.correct(none, 1000, 1, 0);
    EXPECT_EQ(sampler.plan(1000), none);
    EXPECT_FALSE(sampler.is_next());
}

TEST(LatencySampler, ABufferThatLeavesEarlyCountsItsPushesOnly) {
    latency_sampler sampler(5);

    EXPECT_EQ(sampler.plan(3), none);
    sampler.correct(none, 3, 1, 0);

    EXPECT_EQ(sampler.plan(10), 3U);
}

TEST(LatencySampler, ASampleThatWasPlannedAndNotTakenIsPlannedAgain) {
    latency_sampler sampler(3);

    EXPECT_EQ(sampler.plan(4), 2U);
    sampler.correct(2, 4, 1, 0);

    EXPECT_EQ(sampler.plan(4), 1U);
}

TEST(LatencySampler, ForwardedItemsAreNoPushes) {
    latency_sampler sampler(5);

    EXPECT_EQ(sampler.plan(3), none);
    sampler.correct(none, 3, 3, 3);

    EXPECT_EQ(sampler.plan(10), 4U);
}

TEST(LatencySampler, APostponedSampleIsTheNextPush) {
    latency_sampler sampler(100);

    sampler.postpone();

    EXPECT_EQ(sampler.plan(10), 0U);
}

TEST(LatencySampler, CountsPushesOfItemsOfAnySizeOneByOne) {
    latency_sampler sampler(3);

    std::vector<bool> sampled;
    for (int i = 0; i < 7; ++i) sampled.push_back(sampler.is_next());

    EXPECT_EQ(sampled, (std::vector<bool>{false, false, true, false, false, true, false}));
}

}  // namespace
}  // namespace crossdock::latency_sampler_test
