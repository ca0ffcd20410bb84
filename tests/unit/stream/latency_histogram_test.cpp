#include "crossdock/detail/stream/stream_options.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace crossdock::latency_histogram_test {
namespace {

constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

latency_histogram histogram_of(const std::vector<std::int64_t>& nanoseconds) {
    latency_histogram result;
    for (const std::int64_t time : nanoseconds) result.add(time);
    return result;
}

// The class of one time, in nanoseconds.
struct width {
    std::int64_t least;
    std::int64_t most;  // exclusive
};

width class_around(std::int64_t nanoseconds) {
    const auto one = histogram_of({nanoseconds}).buckets().at(0);
    return {static_cast<std::int64_t>(one.least_seconds * 1e9 + 0.5),
            static_cast<std::int64_t>(one.most_seconds * 1e9 + 0.5)};
}

TEST(LatencyHistogram, IsEmptyAtFirst) {
    const latency_histogram empty;

    EXPECT_EQ(empty.count(), 0);
    EXPECT_EQ(empty.max_seconds(), 0);
    EXPECT_EQ(empty.quantile_seconds(0.5), 0);
    EXPECT_EQ(empty.quantile_seconds(1), 0);
    EXPECT_TRUE(empty.buckets().empty());
}

TEST(LatencyHistogram, ShortTimesHaveAClassEach) {
    for (std::int64_t time = 0; time < 64; ++time) {
        EXPECT_EQ(class_around(time).least, time);
        EXPECT_EQ(class_around(time).most, time + 1);
    }
}

TEST(LatencyHistogram, AClassIsAThirtySecondOfItsPowerOfTwo) {
    for (int power = 6; power < 50; ++power) {
        const std::int64_t start = std::int64_t{1} << power;
        const std::int64_t step = start / 32;
        for (const std::int64_t k : {0, 1, 16, 31}) {
            const std::int64_t least = start + k * step;

            EXPECT_EQ(class_around(least).least, least) << power << ' ' << k;
            EXPECT_EQ(class_around(least).most, least + step) << power << ' ' << k;
            EXPECT_EQ(class_around(least + step - 1).least, least) << power << ' ' << k;
        }
    }
}

TEST(LatencyHistogram, TheLongestTimeHasTheLastClassWhichEndsThere) {
    const latency_histogram one = histogram_of({longest});
    const auto last = one.buckets().at(0);

    EXPECT_EQ(one.counts().back(), 1);
    EXPECT_EQ(one.max_nanoseconds(), longest);
    EXPECT_EQ(one.quantile_seconds(1), 1e-9 * static_cast<double>(longest));
    EXPECT_EQ(last.least_seconds, 1e-9 * 63 * static_cast<double>(std::int64_t{1} << 57));
    EXPECT_GE(last.most_seconds, 1e-9 * static_cast<double>(longest));
}

TEST(LatencyHistogram, TimesBelowZeroCountAsZero) {
    const latency_histogram one = histogram_of({-5, std::numeric_limits<std::int64_t>::min(), 0});

    EXPECT_EQ(one.count(), 3);
    EXPECT_EQ(one.counts()[0], 3);
    EXPECT_EQ(one.max_seconds(), 0);
}

TEST(LatencyHistogram, QuantilesOfShortTimesAreExact) {
    std::vector<std::int64_t> times;
    for (std::int64_t time = 1; time <= 50; ++time) times.push_back(time);
    const latency_histogram all = histogram_of(times);

    EXPECT_EQ(all.quantile_seconds(0), 1e-9 * 1);
    EXPECT_EQ(all.quantile_seconds(0.02), 1e-9 * 1);
    EXPECT_EQ(all.quantile_seconds(0.021), 1e-9 * 2);
    EXPECT_EQ(all.quantile_seconds(0.5), 1e-9 * 25);
    EXPECT_EQ(all.quantile_seconds(0.9), 1e-9 * 45);
    EXPECT_EQ(all.quantile_seconds(1), 1e-9 * 50);
}

TEST(LatencyHistogram, AQuantileIsTheUpperEndOfItsClassOrTheMaximum) {
    const latency_histogram two = histogram_of({1000, 5000});  // 992 to 1007, 4992 to 5119

    EXPECT_EQ(two.quantile_seconds(0.5), 1e-9 * 1007);
    EXPECT_EQ(two.quantile_seconds(0.99), 1e-9 * 5000);
    EXPECT_EQ(two.max_seconds(), 1e-9 * 5000);
}

TEST(LatencyHistogram, AddsAnother) {
    latency_histogram sum = histogram_of({3, 100, 100});

    sum.add(histogram_of({3, 7, 2000000}));

    EXPECT_EQ(sum.count(), 6);
    EXPECT_EQ(sum.max_nanoseconds(), 2000000);
    EXPECT_EQ(sum.counts(), histogram_of({3, 100, 100, 3, 7, 2000000}).counts());
    EXPECT_EQ(sum.quantile_seconds(0.5), 1e-9 * 7);
}

TEST(LatencyHistogram, BucketsAreTheClassesWithTimesInThem) {
    const auto found = histogram_of({5, 65, 64, 5, 300, 5}).buckets();

    EXPECT_EQ(found, (std::vector<latency_histogram::bucket>{{1e-9 * 5, 1e-9 * 6, 3},
                                                             {1e-9 * 64, 1e-9 * 66, 2},
                                                             {1e-9 * 296, 1e-9 * 304, 1}}));
}

}  // namespace
}  // namespace crossdock::latency_histogram_test
