#include "tools/calibration/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/thrown_by.hpp"

namespace crossdock::fit_test {
namespace {

constexpr double us = 1e-6;

std::vector<double> powers_of_two(int count) {
    std::vector<double> all;
    for (int k = 0; k < count; ++k) all.push_back(static_cast<double>(1 << k));
    return all;
}

std::vector<timed_amount> samples_of(const cost_line& line, const std::vector<double>& amounts) {
    std::vector<timed_amount> samples;
    for (const double amount : amounts) samples.push_back({amount, line.at(amount)});
    return samples;
}

// Times off by up to `share` of them, with a fixed seed.
void add_noise(std::vector<timed_amount>& samples, double share) {
    std::mt19937 random(314159);
    for (auto& sample : samples) {
        const double uniform = static_cast<double>(random()) / 4294967296.0;
        sample.seconds *= 1 + share * (2 * uniform - 1);
    }
}

void expect_line(const cost_line& found, const cost_line& expected, double share) {
    EXPECT_NEAR(found.start_seconds, expected.start_seconds, share * expected.start_seconds);
    EXPECT_NEAR(found.slope_seconds, expected.slope_seconds, share * expected.slope_seconds);
}

TEST(FitLine, FindsTheLineThatSamplesAreOn) {
    const cost_line truth{2 * us, 0.0003 * us};

    const auto found = fit_line(samples_of(truth, powers_of_two(21)));

    expect_line(found.line, truth, 1e-9);
    EXPECT_LT(found.relative_error, 1e-9);
}

TEST(FitLine, SamplesThatAreFarOffDoNotPullTheLine) {
    const cost_line truth{2 * us, 0.0003 * us};
    auto samples = samples_of(truth, powers_of_two(21));
    for (const std::size_t k : {0u, 5u, 11u, 17u, 20u}) samples[k].seconds *= 100;

    const auto found = fit_line(samples);

    expect_line(found.line, truth, 1e-9);
    EXPECT_LT(found.relative_error, 1e-9);
}

TEST(FitLine, NoiseOfATenthLeavesAFewHundredths) {
    const cost_line truth{2 * us, 0.0003 * us};
    auto samples = samples_of(truth, powers_of_two(21));
    add_noise(samples, 0.1);

    const auto found = fit_line(samples);

    expect_line(found.line, truth, 0.06);
    EXPECT_GT(found.relative_error, 0.01);
    EXPECT_LT(found.relative_error, 0.1);
}

TEST(FitLine, SlopeAndStartAreNotNegative) {
    const std::vector<timed_amount> falling{{1, 3 * us}, {2, 2 * us}, {3, 1 * us}};
    const std::vector<timed_amount> steep{{10, 1 * us}, {20, 3 * us}, {30, 5 * us}};

    EXPECT_EQ(fit_line(falling).line.slope_seconds, 0);
    EXPECT_EQ(fit_line(falling).line.start_seconds, 1 * us);
    EXPECT_EQ(fit_line(steep).line.start_seconds, 0);
}

TEST(FitLine, StartIsNoLessThanAsked) {
    const cost_line truth{2 * us, 0.5 * us};

    const auto found = fit_line(samples_of(truth, {1, 2, 3, 4, 5}), 3 * us);

    EXPECT_EQ(found.line.start_seconds, 3 * us);
}

TEST(FitLine, OneSampleIsAConstant) {
    const auto found = fit_line(std::vector<timed_amount>{{8, 5 * us}});

    EXPECT_EQ(found.line.at(8), 5 * us);
    EXPECT_EQ(found.line.slope_seconds, 0);
}

TEST(FitLine, NeedsASample) {
    EXPECT_EQ(test::thrown_by([] { fit_line({}); }).code(), errc::invalid_argument);
    EXPECT_EQ(test::thrown_by([] { fit_protocols({}); }).code(), errc::invalid_argument);
    EXPECT_EQ(test::thrown_by([] { lower_quartile({}); }).code(), errc::invalid_argument);
}

std::vector<timed_amount> samples_of_protocols(double last_eager_amount) {
    const cost_line eager{1 * us, 0.0005 * us};
    const cost_line rendezvous{5 * us, 0.0001 * us};
    std::vector<timed_amount> samples;
    for (const double amount : powers_of_two(21)) {
        const auto& line = amount <= last_eager_amount ? eager : rendezvous;
        samples.push_back({amount, line.at(amount)});
    }
    return samples;
}

TEST(FitProtocols, FindsTheSwitchAndBothLines) {
    for (const double last : {512.0, 4096.0, 65536.0}) {
        const auto found = fit_protocols(samples_of_protocols(last));

        EXPECT_EQ(found.last_eager_amount, last);
        expect_line(found.eager, {1 * us, 0.0005 * us}, 1e-9);
        expect_line(found.rendezvous, {5 * us, 0.0001 * us}, 1e-9);
    }
}

TEST(FitProtocols, FindsTheSwitchInNoise) {
    auto samples = samples_of_protocols(4096);
    add_noise(samples, 0.05);

    const auto found = fit_protocols(samples);

    EXPECT_EQ(found.last_eager_amount, 4096);
    expect_line(found.eager, {1 * us, 0.0005 * us}, 0.1);
    expect_line(found.rendezvous, {5 * us, 0.0001 * us}, 0.1);
}

TEST(FitProtocols, OneLineIsBothProtocols) {
    const cost_line truth{2 * us, 0.0003 * us};

    const auto found = fit_protocols(samples_of(truth, powers_of_two(21)));

    EXPECT_EQ(found.last_eager_amount, 1 << 20);
    expect_line(found.eager, truth, 1e-9);
    expect_line(found.rendezvous, truth, 1e-9);
}

TEST(FitProtocols, RendezvousStartsNoSooner) {
    // Long messages on a line that would start below 0.
    std::vector<timed_amount> samples;
    for (const double amount : powers_of_two(21))
        samples.push_back({amount, amount <= 1024 ? 4 * us : 0.004 * us * amount});

    const auto found = fit_protocols(samples);

    EXPECT_GE(found.rendezvous.start_seconds, found.eager.start_seconds);
}

TEST(LowerQuartile, IsAboveAQuarterOfTheTimes) {
    EXPECT_EQ(lower_quartile({5}), 5);
    EXPECT_EQ(lower_quartile({4, 3, 2, 1}), 2);
    EXPECT_EQ(lower_quartile({9, 8, 7, 6, 5, 4, 3, 2, 1}), 3);
}

}  // namespace
}  // namespace crossdock::fit_test
