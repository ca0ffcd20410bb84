#include <gtest/gtest.h>

#include "crossdock/simulate.hpp"
#include "support.hpp"
#include "support/machines.hpp"

namespace crossdock::loggp_replay_test {
namespace {

constexpr picoseconds ns = 1000;

operation send_to(rank_t peer, count_t bytes, int tag = 0) {
    operation what;
    what.kind = operation_kind::send;
    what.peer = peer;
    what.tag = tag;
    what.message_bytes = bytes;
    return what;
}

operation receive_from(rank_t peer, count_t bytes, int tag = 0) {
    operation what = send_to(peer, bytes, tag);
    what.kind = operation_kind::receive;
    return what;
}

operation copy_of(count_t bytes) {
    operation what;
    what.copied_bytes = bytes;
    return what;
}

rank_layout layout_of(const char* regions) { return rank_layout(topology::from_string(regions)); }

// Overhead 100 ns, latency 1000 ns, 2 ns for each byte of a message; a byte is copied in 1 ns.
machine round_machine() {
    auto m = test::uniform_machine(100, 1000, 2);
    m.copy_seconds_per_byte = 1e-9;
    return m;
}

simulation replay(const char* regions, const schedule& s, simulation_options options = {},
                  const machine& m = round_machine()) {
    options.charge = charging::loggp;
    return simulate(layout_of(regions), s, m, options);
}

std::vector<picoseconds> finish_ns(const simulation& result) {
    auto times = result.finish;
    for (auto& time : times) time /= ns;
    return times;
}

using times = std::vector<picoseconds>;

TEST(StrictLogGP, AMessageThatNothingDelaysTakesWhatItTakesByDefault) {
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 11));
    s.begin_rank();
    s.add(receive_from(0, 11));

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{100, 100 + 1000 + 100 + 10 * 2}));
    EXPECT_EQ(replay("2x1", s).finish, simulate(layout_of("2x1"), s, round_machine()).finish);
}

TEST(StrictLogGP, BytesKeepTheReceiversCoreBusy) {
    schedule s;
    s.begin_rank();
    for (const rank_t peer : {1, 2, 3}) s.add(receive_from(peer, 201));
    for (int k = 0; k < 3; ++k) {
        s.begin_rank();
        s.add(send_to(0, 201));
    }

    const auto by_default = simulate(layout_of("4x1"), s, round_machine());

    EXPECT_EQ(finish_ns(replay("4x1", s))[0], 1100 + 3 * (100 + 400));
    EXPECT_EQ(by_default.finish[0] / ns, 1100 + 3 * 400 + 100);
}

TEST(StrictLogGP, ASendWaitsForTheInterfaceAndTheCoreDoesWhatElseIsPossible) {
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 201, 0));
    s.add(send_to(1, 201, 1));
    s.add(copy_of(50));
    s.begin_rank();
    s.add(receive_from(0, 201, 0));
    s.add(receive_from(0, 201, 1));

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{400 + 100, 1100 + 2 * 500}));

    simulation_options with_gap;
    with_gap.gap = 170 * ns;
    EXPECT_EQ(finish_ns(replay("2x1", s, with_gap)), (times{570 + 100, 570 + 1100 + 500}));
}

TEST(StrictLogGP, AGapLongerThanTheOverheadDelaysTheReceiver) {
    schedule s;
    s.begin_rank();
    for (const rank_t peer : {1, 2}) s.add(receive_from(peer, 1));
    for (int k = 0; k < 2; ++k) {
        s.begin_rank();
        s.add(send_to(0, 1));
    }
    simulation_options with_gap;
    with_gap.gap = 250 * ns;

    EXPECT_EQ(finish_ns(replay("3x1", s, with_gap)), (times{1100 + 250 + 100, 100, 100}));
}

TEST(StrictLogGP, AMessageIsReceivedBeforeItsReceiveIsPosted) {
    schedule s;
    s.begin_rank();
    const auto late = s.add(receive_from(2, 1));
    s.add(receive_from(1, 1), std::vector{late});
    s.begin_rank();
    s.add(send_to(0, 1));
    s.begin_rank();
    s.add(send_to(0, 1));
    simulation_options options;
    options.start = {0, 0, 5000 * ns};

    EXPECT_EQ(finish_ns(replay("3x1", s, options)), (times{5000 + 1200, 100, 5100}));
}

TEST(StrictLogGP, WhatRequiresARendezvousWaitsUntilItIsReceived) {
    auto m = round_machine();
    for (auto& level : m.levels) level.rendezvous_bytes = 10;
    schedule s;
    s.begin_rank();
    const auto sent = s.add(send_to(1, 11));
    s.add(copy_of(30), std::vector{sent});
    s.begin_rank();
    const auto first = s.add(copy_of(5000));
    s.add(receive_from(0, 11), std::vector{first});

    EXPECT_EQ(finish_ns(replay("2x1", s, {}, m)), (times{5000 + 30, 5000 + 120}));
    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{100 + 30, 5000 + 120}));
}

TEST(StrictLogGP, ARendezvousIsReceivedAndThenWaitsForItsReceive) {
    auto m = round_machine();
    for (auto& level : m.levels) level.rendezvous_bytes = 10;
    schedule s;
    s.begin_rank();
    const auto sent = s.add(send_to(1, 11));
    s.add(send_to(2, 1), std::vector{sent});
    s.begin_rank();
    const auto first = s.add(receive_from(2, 1));
    s.add(receive_from(0, 11), std::vector{first});
    s.begin_rank();
    s.add(receive_from(0, 1));
    s.add(send_to(1, 1));
    simulation_options options;
    options.start = {0, 0, 5000 * ns};

    // The receive is posted when the core of rank 1 is free again.
    EXPECT_EQ(finish_ns(replay("3x1", s, options, m)), (times{6200 + 100, 6200, 6200 + 1200}));
}

TEST(StrictLogGP, WhatWaitsForACoreBeginsInTheOrderInWhichItCameToBe) {
    schedule s;
    s.begin_rank();
    const auto first = s.add(copy_of(1500));
    s.add(receive_from(1, 1));
    s.add(send_to(1, 1), std::vector{first});
    s.begin_rank();
    s.add(send_to(0, 1));
    s.add(receive_from(0, 1));

    // The send became possible when the copy began, before the message was sent.
    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{1500 + 200, 1500 + 1200}));
}

TEST(StrictLogGP, SendsComeBeforeCopiesThatBecomePossibleWithThem) {
    schedule s;
    s.begin_rank();
    s.add(copy_of(40));
    s.add(send_to(1, 1));
    s.begin_rank();
    s.add(receive_from(0, 1));

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{140, 1200}));
}

TEST(StrictLogGP, CopyingComesBeforeASendAndAfterAReceive) {
    schedule s;
    s.begin_rank();
    auto send = send_to(1, 1);
    send.copied_bytes = 30;
    s.add(send);
    s.begin_rank();
    auto receive = receive_from(0, 1);
    receive.copied_bytes = 20;
    s.add(receive);

    EXPECT_EQ(finish_ns(replay("2x1", s)), (times{130, 130 + 1100 + 20}));
}

TEST(StrictLogGP, WhatIsHandedOverIsAMessage) {
    schedule s;
    s.begin_rank();
    auto send = send_to(1, 11);
    send.is_hand_over = true;
    s.add(send);
    s.begin_rank();
    auto receive = receive_from(0, 11);
    receive.is_hand_over = true;
    s.add(receive);

    EXPECT_EQ(finish_ns(replay("1x2", s)), (times{100, 1220}));
}

TEST(StrictLogGP, TheSharesOfAllRanksAddUpToTheSlowestTimeEach) {
    auto m = round_machine();
    for (auto& level : m.levels) level.rendezvous_bytes = 10;
    const auto layout = layout_of("2x3");
    const auto plans =
        test::plans_of({{1, 2, 3, 4, 5}, {0, 5}, {3}, {1}, {}, {0, 2}}, "2x3", "three_step");
    simulation_options options;
    options.charge = charging::loggp;
    options.start = {0, 0, 700 * ns, 0, 0, 0};
    options.mean_noise = 50 * ns;

    const auto result = simulate(layout, schedule_of(layout, plans, {8, false}), m, options);

    double sum = result.shares.copying + result.shares.idle;
    for (const double share : result.shares.by_level) sum += share;
    EXPECT_EQ(sum, 6 * static_cast<double>(result.slowest));
}

TEST(StrictLogGP, RefusesCoresThatAreSharedAndOperationsThatWaitForEachOther) {
    auto shared = round_machine();
    shared.num_cores = 1;
    schedule s;
    s.begin_rank();
    const auto receive = s.add(receive_from(1, 1));
    s.add(send_to(1, 1), std::vector{receive});
    s.begin_rank();
    const auto other = s.add(receive_from(0, 1));
    s.add(send_to(0, 1), std::vector{other});

    EXPECT_THROW(replay("2x1", s, {}, shared), error);
    EXPECT_THROW(replay("2x1", s), error);
}

}  // namespace
}  // namespace crossdock::loggp_replay_test
