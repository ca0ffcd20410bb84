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

struct early_buffer {
    std::uint32_t interval;
    std::uint32_t capacity;
    std::uint32_t planned;
    std::uint32_t num_items;  // when it left
    std::uint32_t num_forwarded;
    std::uint32_t planned_next;
};

TEST(LatencySampler, ABufferThatLeavesEarlyCountsItsPushesOnly) {
    for (const auto& one : {early_buffer{5, 3, none, 1, 0, 3}, early_buffer{3, 4, 2, 1, 0, 1},
                            early_buffer{5, 3, none, 3, 3, 4}}) {
        latency_sampler sampler(one.interval);

        EXPECT_EQ(sampler.plan(one.capacity), one.planned);
        sampler.correct(one.planned, one.capacity, one.num_items, one.num_forwarded);

        EXPECT_EQ(sampler.plan(10), one.planned_next);
    }
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
