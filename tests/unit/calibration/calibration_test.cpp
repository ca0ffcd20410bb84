#include "tools/calibration/calibration.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock::calibration_test {
namespace {

constexpr double us = 1e-6;
constexpr double ns = 1e-9;
constexpr auto region = static_cast<std::size_t>(locality_level::region);
constexpr auto node = static_cast<std::size_t>(locality_level::node);
constexpr auto network = static_cast<std::size_t>(locality_level::network);

std::vector<timed_amount> line_samples(double start, double slope,
                                       const std::vector<double>& amounts) {
    std::vector<timed_amount> samples;
    for (const double amount : amounts) samples.push_back({amount, start + slope * amount});
    return samples;
}

level_samples samples_of_level(double alpha, double beta, double burst_slope, double send_slope) {
    return {line_samples(alpha, beta, {1, 16, 256, 4096, 65536}),
            line_samples(10 * us, burst_slope, {1, 2, 4, 8}),
            line_samples(0.1 * us, send_slope, {1, 2, 4, 8}),
            {},
            16};
}

machine_samples alone() {
    machine_samples samples;
    samples.name = "synthetic";
    samples.copying = line_samples(0.05 * us, 0.1 * ns, {1024, 4096, 16384});
    samples.gathering = line_samples(0.02 * us, 1.8 * ns, {64, 256, 1024});
    return samples;
}

machine_samples complete() {
    auto samples = alone();
    samples.levels[region] = samples_of_level(1 * us, 0.2 * ns, 0.3 * us, 0.1 * us);
    samples.levels[node] = samples_of_level(1.5 * us, 0.3 * ns, 0.3 * us, 0.1 * us);
    samples.levels[network] = samples_of_level(9 * us, 0.5 * ns, 3 * us, 2 * us);
    samples.injection = line_samples(9 * us, 0.08 * ns, {1e6, 2e6, 4e6});
    samples.matching = line_samples(2 * us, 4 * ns, {0, 100, 200});
    samples.hand_over_seconds = 0.15 * us;
    return samples;
}

TEST(FitMachine, FindsWhatSyntheticSamplesAreMadeOf) {
    const auto [m, errors] = fit_machine(complete());

    EXPECT_EQ(m.name, "synthetic");
    const auto& far = m.at(locality_level::network);
    EXPECT_NEAR(far.send_overhead_seconds, 2 * us, 1e-6 * us);
    EXPECT_NEAR(far.receive_overhead_seconds, 1 * us, 1e-6 * us);
    EXPECT_NEAR(far.eager.latency_seconds, 6 * us, 1e-6 * us);
    EXPECT_NEAR(far.eager.seconds_per_byte, 0.5 * ns, 1e-6 * ns);
    EXPECT_EQ(far.rendezvous, far.eager);
    EXPECT_EQ(far.rendezvous_bytes, 65536);
    EXPECT_NEAR(m.injection_seconds_per_byte, 0.08 * ns, 1e-6 * ns);
    EXPECT_NEAR(m.matching_seconds, 4 * ns, 1e-6 * ns);
    EXPECT_NEAR(m.copy_seconds_per_byte, 0.1 * ns, 1e-6 * ns);
    EXPECT_NEAR(m.copy_seconds_per_item, 1 * ns, 1e-6 * ns);
    EXPECT_EQ(m.hand_over_seconds, 0.15 * us);
    EXPECT_EQ(m.num_cores, 0);
    EXPECT_EQ(errors.size(), 2u + 3 * 3 + 2);
    for (const auto& one : errors) EXPECT_LT(one.relative_error, 1e-9) << one.group;
}

TEST(FitMachine, WhatIsMeasuredSaysSoWithItsError) {
    const auto m = fit_machine(complete()).found;

    EXPECT_EQ(m.sources.at("levels.network"), "measured: network ping-pong, median error 0.0 %");
    EXPECT_EQ(m.sources.at("injection_seconds_per_byte"),
              "measured: injection, median error 0.0 %");
    EXPECT_EQ(m.sources.at("time_slice_seconds"), "measured: every rank has a core");
}

TEST(FitMachine, SharedCoresHaveTheirPartOfABurst) {
    auto samples = complete();
    samples.num_cores = 2;
    samples.time_slice_seconds = 3 * us;
    // 16 ranks on 2 cores: a message more for each takes eight times the work of one.
    samples.levels[network]->bursts = line_samples(100 * us, 8 * 3 * us, {1, 2, 4, 8});

    const auto m = fit_machine(samples).found;

    EXPECT_NEAR(m.at(locality_level::network).send_overhead_seconds, 2 * us, 1e-6 * us);
    EXPECT_NEAR(m.at(locality_level::network).receive_overhead_seconds, 1 * us, 1e-6 * us);
    EXPECT_EQ(m.num_cores, 2);
    EXPECT_EQ(m.time_slice_seconds, 3 * us);
}

TEST(FitMachine, RanksWithoutOthersAtALevelHaveNoPartOfItsBursts) {
    auto samples = complete();
    samples.num_ranks = 16;
    samples.num_cores = 2;
    // 6 ranks on 2 cores: three times the work of one.
    samples.levels[region]->num_ranks = 6;
    samples.levels[region]->bursts = line_samples(100 * us, 3 * 0.3 * us, {1, 2, 4, 8});

    const auto m = fit_machine(samples).found;

    EXPECT_NEAR(m.at(locality_level::region).send_overhead_seconds, 0.1 * us, 1e-6 * us);
    EXPECT_NEAR(m.at(locality_level::region).receive_overhead_seconds, 0.2 * us, 1e-6 * us);
}

TEST(FitMachine, BytesCostSharedCoresTheirPartOfALoad) {
    auto samples = complete();
    samples.num_cores = 2;
    samples.levels[network]->loads = line_samples(100 * us, 8 * 1.5 * ns, {256, 4096, 65536});

    const auto m = fit_machine(samples).found;

    const auto& far = m.at(locality_level::network);
    EXPECT_NEAR(far.eager.seconds_per_byte, 1.5 * ns, 1e-6 * ns);
    EXPECT_NEAR(far.rendezvous.seconds_per_byte, 1.5 * ns, 1e-6 * ns);
    EXPECT_EQ(m.sources.at("levels.network.eager.seconds_per_byte"),
              "measured: network loads, median error 0.0 %");
    EXPECT_NEAR(m.at(locality_level::region).eager.seconds_per_byte, 0.2 * ns, 1e-6 * ns);
}

TEST(FitMachine, ALevelWithoutPairsIsAsTheNearestThatHasSome) {
    auto samples = complete();
    samples.levels[node].reset();

    const auto m = fit_machine(samples).found;

    EXPECT_EQ(m.at(locality_level::node), m.at(locality_level::region));
    EXPECT_EQ(m.sources.at("levels.node"), "assumed: no pair of ranks at this level; as region");

    samples.levels[region].reset();
    const auto far_only = fit_machine(samples).found;

    EXPECT_EQ(far_only.at(locality_level::region), far_only.at(locality_level::network));
    EXPECT_EQ(far_only.at(locality_level::node), far_only.at(locality_level::network));
}

TEST(FitMachine, OneRankAssumesCopies) {
    const auto [m, errors] = fit_machine(alone());

    for (const auto level :
         {locality_level::region, locality_level::node, locality_level::network}) {
        EXPECT_EQ(m.at(level), m.at(locality_level::self));
        EXPECT_NEAR(m.at(level).eager.seconds_per_byte, 0.1 * ns, 1e-6 * ns);
    }
    EXPECT_EQ(m.sources.at("levels.network"), "assumed: no pair of ranks at this level; as a copy");
    EXPECT_EQ(errors.size(), 2u);
}

TEST(FitMachine, AFartherLevelHasNoSmallerLatency) {
    auto samples = complete();
    samples.levels[node] = samples_of_level(0.6 * us, 0.3 * ns, 0.3 * us, 0.1 * us);

    const auto m = fit_machine(samples).found;

    EXPECT_EQ(m.at(locality_level::node).eager.latency_seconds,
              m.at(locality_level::region).eager.latency_seconds);
    EXPECT_EQ(m.sources.at("levels.node"),
              "measured: node ping-pong, median error 0.0 %; latency raised to that of region");
    EXPECT_NO_THROW(validate(m));
}

TEST(FitMachine, OverheadsBeyondAPingPongLeaveNoLatency) {
    auto samples = complete();
    samples.levels[region] = samples_of_level(1 * us, 0.2 * ns, 4 * us, 1 * us);

    const auto m = fit_machine(samples).found;

    EXPECT_EQ(m.at(locality_level::region).eager.latency_seconds, 0);
    EXPECT_NO_THROW(validate(m));
}

TEST(FitMachine, NeedsCopies) {
    EXPECT_EQ(test::thrown_by([] { fit_machine({}); }).code(), errc::invalid_argument);
}

}  // namespace
}  // namespace crossdock::calibration_test
