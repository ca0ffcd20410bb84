#include <gtest/gtest.h>

#include "crossdock/simulate.hpp"
#include "support.hpp"
#include "support/machines.hpp"

namespace crossdock::loggp_replay_test {
namespace {

using namespace test;

constexpr picoseconds ns = 1000;

// Overhead 100 ns, latency 1000 ns, 2 ns for each byte of a message; a byte is copied in 1 ns.
machine round_machine(count_t rendezvous_bytes = 0) {
    auto m = uniform_machine(100, 1000, 2);
    m.copy_seconds_per_byte = 1e-9;
    if (rendezvous_bytes > 0)
        for (auto& level : m.levels) level.rendezvous_bytes = rendezvous_bytes;
    return m;
}

simulation replay(const char* regions, const schedule& s, simulation_options options = {},
                  const machine& m = round_machine()) {
    options.charge = charging::loggp;
    return simulate(layout_of(regions), s, m, options);
}

TEST(StrictLogGP, AMessageThatNothingDelaysTakesWhatItTakesByDefault) {
    const auto s = made_of({{send_to(1, 11)}, {receive_from(0, 11)}});

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{100, 100 + 1000 + 100 + 10 * 2}));
    EXPECT_EQ(replay("2x1", s).finish, simulate(layout_of("2x1"), s, round_machine()).finish);
}

TEST(StrictLogGP, BytesKeepTheReceiversCoreBusy) {
    const auto s = all_to_first(4, 201);

    const auto by_default = simulate(layout_of("4x1"), s, round_machine());

    EXPECT_EQ(finish_ns(replay("4x1", s))[0], 1100 + 3 * (100 + 400));
    EXPECT_EQ(finish_ns(by_default)[0], 1100 + 3 * 400 + 100);
}

TEST(StrictLogGP, ASendWaitsForTheInterfaceAndTheCoreDoesWhatElseIsPossible) {
    const auto s = made_of({{send_to(1, 201, 0), send_to(1, 201, 1), copy_of(50)},
                            {receive_from(0, 201, 0), receive_from(0, 201, 1)}});

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{400 + 100, 1100 + 2 * 500}));

    simulation_options with_gap;
    with_gap.gap = 170 * ns;
    EXPECT_EQ(finish_ns(replay("2x1", s, with_gap)), (times{570 + 100, 570 + 1100 + 500}));
}

TEST(StrictLogGP, AGapLongerThanTheOverheadDelaysTheReceiver) {
    simulation_options with_gap;
    with_gap.gap = 250 * ns;

    EXPECT_EQ(finish_ns(replay("3x1", all_to_first(3, 1), with_gap)),
              (times{1100 + 250 + 100, 100, 100}));
}

TEST(StrictLogGP, AMessageIsReceivedBeforeItsReceiveIsPosted) {
    const auto s = made_of(
        {{receive_from(2, 1), receive_from(1, 1).after({0})}, {send_to(0, 1)}, {send_to(0, 1)}});
    simulation_options options;
    options.start = {0, 0, 5000 * ns};

    EXPECT_EQ(finish_ns(replay("3x1", s, options)), (times{5000 + 1200, 100, 5100}));
}

TEST(StrictLogGP, WhatRequiresARendezvousWaitsUntilItIsReceived) {
    const auto s = made_of({{send_to(1, 11), copy_of(30).after({0})},
                            {copy_of(5000), receive_from(0, 11).after({0})}});

    EXPECT_EQ(finish_ns(replay("2x1", s, {}, round_machine(10))), (times{5000 + 30, 5000 + 120}));
    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{100 + 30, 5000 + 120}));
}

TEST(StrictLogGP, ARendezvousIsReceivedAndThenWaitsForItsReceive) {
    const auto s = made_of({{send_to(1, 11), send_to(2, 1).after({0})},
                            {receive_from(2, 1), receive_from(0, 11).after({0})},
                            {receive_from(0, 1), send_to(1, 1)}});
    simulation_options options;
    options.start = {0, 0, 5000 * ns};

    // The receive is posted when the core of rank 1 is free again.
    EXPECT_EQ(finish_ns(replay("3x1", s, options, round_machine(10))),
              (times{6200 + 100, 6200, 6200 + 1200}));
}

TEST(StrictLogGP, WhatWaitsForACoreBeginsInTheOrderInWhichItCameToBe) {
    const auto s = made_of({{copy_of(1500), receive_from(1, 1), send_to(1, 1).after({0})},
                            {send_to(0, 1), receive_from(0, 1)}});

    // The send became possible when the copy began, before the message was sent.
    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{1500 + 200, 1500 + 1200}));
}

TEST(StrictLogGP, SendsComeBeforeCopiesThatBecomePossibleWithThem) {
    const auto s = made_of({{copy_of(40), send_to(1, 1)}, {receive_from(0, 1)}});

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{140, 1200}));
}

TEST(StrictLogGP, CopyingComesBeforeASendAndAfterAReceive) {
    auto send = send_to(1, 1), receive = receive_from(0, 1);
    send.what.copied_bytes = 30;
    receive.what.copied_bytes = 20;

    EXPECT_EQ(finish_ns(replay("2x1", made_of({{send}, {receive}}))),
              (times{130, 130 + 1100 + 20}));
}

TEST(StrictLogGP, WhatIsHandedOverIsAMessage) {
    auto send = send_to(1, 11), receive = receive_from(0, 11);
    send.what.is_hand_over = receive.what.is_hand_over = true;

    EXPECT_EQ(finish_ns(replay("1x2", made_of({{send}, {receive}}))), (times{100, 1220}));
}

TEST(StrictLogGP, TheSharesOfAllRanksAddUpToTheSlowestTimeEach) {
    const auto layout = layout_of("2x3");
    const auto plans =
        plans_of({{1, 2, 3, 4, 5}, {0, 5}, {3}, {1}, {}, {0, 2}}, "2x3", "three_step");
    simulation_options options;
    options.start = {0, 0, 700 * ns, 0, 0, 0};
    options.mean_noise = 50 * ns;

    const auto result =
        replay("2x3", schedule_of(layout, plans, {8, false}), options, round_machine(10));

    double sum = result.shares.copying + result.shares.idle;
    for (const double share : result.shares.by_level) sum += share;
    EXPECT_EQ(sum, 6 * static_cast<double>(result.slowest));
}

TEST(StrictLogGP, RefusesCoresThatAreSharedAndOperationsThatWaitForEachOther) {
    auto shared = round_machine();
    shared.num_cores = 1;
    const auto s = made_of({{receive_from(1, 1), send_to(1, 1).after({0})},
                            {receive_from(0, 1), send_to(0, 1).after({0})}});

    EXPECT_THROW(replay("2x1", s, {}, shared), error);
    EXPECT_THROW(replay("2x1", s), error);
}

}  // namespace
}  // namespace crossdock::loggp_replay_test
