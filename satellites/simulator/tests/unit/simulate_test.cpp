#include "crossdock/simulate.hpp"

#include <gtest/gtest.h>

#include "crossdock/schedule.hpp"
#include "support.hpp"
#include "support/machines.hpp"

namespace crossdock::simulate_test {
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

operation copy_of(count_t bytes, count_t items) {
    operation what;
    what.copied_bytes = bytes;
    what.copied_items = items;
    return what;
}

schedule one_message(count_t bytes) {
    schedule s;
    s.begin_rank();
    s.add(send_to(1, bytes));
    s.begin_rank();
    s.add(receive_from(0, bytes));
    return s;
}

// Ranks 1, 2 and 3 send to rank 0.
schedule three_to_one(count_t bytes) {
    schedule s;
    s.begin_rank();
    for (const rank_t peer : {1, 2, 3}) s.add(receive_from(peer, bytes));
    for (int k = 0; k < 3; ++k) {
        s.begin_rank();
        s.add(send_to(0, bytes));
    }
    return s;
}

rank_layout layout_of(const char* regions) { return rank_layout(topology::from_string(regions)); }

TEST(Simulate, OneMessageTakesTwoOverheadsTheLatencyAndItsBytesButOne) {
    const auto m = test::uniform_machine(100, 1000, 2);

    const auto outcome = simulate(layout_of("2x1"), one_message(11), m);

    EXPECT_EQ(outcome.finish, (std::vector<picoseconds>{100 * ns, (100 + 1000 + 20 + 100) * ns}));
    EXPECT_EQ(outcome.slowest, 1220 * ns);
}

TEST(Simulate, MessagesOfOneRankFollowEachOtherByOverheadOrBytes) {
    const auto m = test::uniform_machine(100, 1000, 2);
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 1));
    s.add(send_to(2, 301));
    s.add(send_to(3, 1));
    for (const count_t bytes : {1, 301, 1}) {
        s.begin_rank();
        s.add(receive_from(0, bytes));
    }

    const auto outcome = simulate(layout_of("4x1"), s, m);

    // The core is done at 100, 200 and 300; the way out is taken from 200 to 800.
    EXPECT_EQ(outcome.finish,
              (std::vector<picoseconds>{300 * ns, 1200 * ns, (200 + 1000 + 600 + 100) * ns,
                                        (800 + 1000 + 100) * ns}));
}

TEST(Simulate, ReceivingTakesTheCoreOneMessageAfterTheOther) {
    const auto m = test::uniform_machine(100, 1000, 0);
    const auto s = three_to_one(8);

    EXPECT_EQ(simulate(layout_of("4x1"), s, m).slowest, (100 + 1000 + 3 * 100) * ns);
}

TEST(Simulate, AMessageLeavesWhenAllItForwardsHasCome) {
    const auto m = test::uniform_machine(100, 1000, 0);
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 8));
    s.begin_rank();
    const auto first = s.add(receive_from(0, 8));
    const auto second = s.add(receive_from(2, 8));
    s.add(send_to(3, 16), std::vector{first, second});
    s.begin_rank();
    s.add(send_to(1, 8));
    s.begin_rank();
    s.add(receive_from(1, 16));
    simulation_options late;
    late.start = {0, 0, 500 * ns, 0};

    EXPECT_EQ(simulate(layout_of("4x1"), s, m, late).slowest,
              (500 + 100 + 1000 + 100 + 100 + 1000 + 100) * ns);
}

// LogGP with o = 100, L = 1000, G = 2: a message of s bytes that nothing delays is taken
// o + L + (s - 1) G + o after it is begun.
TEST(SimulateLogGP, InARingAllAreDoneAfterOneMessage) {
    const auto m = test::uniform_machine(100, 1000, 2);
    schedule s;
    for (rank_t rank = 0; rank < 5; ++rank) {
        s.begin_rank();
        s.add(receive_from((rank + 4) % 5, 11));
        s.add(send_to((rank + 1) % 5, 11));
    }

    EXPECT_EQ(simulate(layout_of("5x1"), s, m).finish,
              std::vector<picoseconds>(5, (100 + 1000 + 10 * 2 + 100) * ns));
}

TEST(SimulateLogGP, FanInTakesTheBytesOfAllOneAfterTheOther) {
    const auto m = test::uniform_machine(100, 1000, 2);
    const auto s = three_to_one(101);

    // First bytes are there at 1100, and the way in takes 200 for each: last bytes at 1300, 1500 and
    // 1700; the core is done 100 later, before the next one is there.
    EXPECT_EQ(simulate(layout_of("4x1"), s, m).finish,
              (std::vector<picoseconds>{1800 * ns, 100 * ns, 100 * ns, 100 * ns}));
}

TEST(SimulateLogGP, FanOutTakesTheBytesOfAllOneAfterTheOther) {
    const auto m = test::uniform_machine(100, 1000, 2);
    schedule s;
    s.begin_rank();
    for (const rank_t peer : {1, 2, 3}) s.add(send_to(peer, 101));
    for (int k = 0; k < 3; ++k) {
        s.begin_rank();
        s.add(receive_from(0, 101));
    }

    // The core is done at 100, 200 and 300; the way out begins at 100, 300 and 500, 200 for each.
    // Then L, the other 100 bytes, and o.
    EXPECT_EQ(
        simulate(layout_of("4x1"), s, m).finish,
        (std::vector<picoseconds>{300 * ns, (100 + 1000 + 200 + 100) * ns,
                                  (300 + 1000 + 200 + 100) * ns, (500 + 1000 + 200 + 100) * ns}));
}

TEST(SimulateLogGP, APipelineTakesOneMessageAfterTheOther) {
    const auto m = test::uniform_machine(100, 1000, 2);
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 11));
    s.begin_rank();
    const auto received = s.add(receive_from(0, 11));
    s.add(send_to(2, 11), std::vector{received});
    s.begin_rank();
    s.add(receive_from(1, 11));

    // 1220 for one message; the second begins then.
    EXPECT_EQ(simulate(layout_of("3x1"), s, m).finish,
              (std::vector<picoseconds>{100 * ns, (1220 + 100) * ns, 2 * 1220 * ns}));
}

TEST(SimulateLogGP, AStageOfAPlanWaitsForWhatItForwardsOnly) {
    const auto m = test::uniform_machine(100, 1000, 2);
    const auto plans = test::plans_of({{2, 3}, {3}, {}, {}}, "2x2", "two_step");

    const auto layout = layout_of("2x2");
    const auto s = schedule_of(layout, plans, {8, false});

    // Rank 0 sends to 2, which has it at 100 + 1000 + 7 * 2 + 100 = 1214 and sends to 3 until 1314;
    // 3 has it another 1014 + 100 later, and what 1 sent it at 1214.
    EXPECT_EQ(simulate(layout, s, m).finish,
              (std::vector<picoseconds>{100 * ns, 100 * ns, 1314 * ns, 2428 * ns}));
}

TEST(Simulate, ALateReceiveDelaysTheDataOfARendezvousOnly) {
    auto m = test::uniform_machine(100, 1000, 1);
    for (auto& level : m.levels) {
        level.rendezvous.latency_seconds = 3000e-9;
        level.rendezvous_bytes = 100;
    }
    simulation_options late;
    late.start = {0, 5000 * ns};

    EXPECT_EQ(simulate(layout_of("2x1"), one_message(101), m).slowest,
              (100 + 3000 + 100 + 100) * ns);
    EXPECT_EQ(simulate(layout_of("2x1"), one_message(101), m, late).slowest,
              (5000 + 2000 + 100 + 100) * ns);
    EXPECT_EQ(simulate(layout_of("2x1"), one_message(100), m, late).slowest, (5000 + 100) * ns);
}

TEST(Simulate, RanksOfANodeShareItsWayToOtherNodes) {
    auto m = test::uniform_machine(0, 1000, 1);
    m.injection_seconds_per_byte = 2e-9;
    schedule s;
    for (const rank_t peer : {2, 3}) {
        s.begin_rank();
        s.add(send_to(peer, 101));
    }
    for (const rank_t peer : {0, 1}) {
        s.begin_rank();
        s.add(receive_from(peer, 101));
    }

    const auto outcome = simulate(layout_of("2x2"), s, m);

    // The second message may begin at 202; the node takes in each for 202 as well.
    EXPECT_EQ(outcome.finish, (std::vector<picoseconds>{0, 0, 1202 * ns, 1404 * ns}));
    EXPECT_EQ(simulate(layout_of("1x4"), s, m).slowest, 1100 * ns);
}

TEST(Simulate, AMessagePaysForTheReceivesThatWaitBeforeItsOwn) {
    auto m = test::uniform_machine(0, 1000, 0);
    m.matching_seconds = 10e-9;
    const auto s = three_to_one(8);
    simulation_options reversed;
    reversed.start = {0, 200 * ns, 100 * ns, 0};

    EXPECT_EQ(simulate(layout_of("4x1"), s, m).slowest, 1000 * ns);
    // The last of three comes first and passes two, then the second passes one.
    const auto outcome = simulate(layout_of("4x1"), s, m, reversed);
    EXPECT_EQ(outcome.shares.by_level[static_cast<std::size_t>(locality_level::network)],
              (20 + 10) * ns + (1000 + (100 - 20) + (100 - 10)) * ns);
}

TEST(Simulate, AReceiveThatIsLatePaysForTheMessagesThatCameBeforeItsOwn) {
    auto m = test::uniform_machine(0, 1000, 0);
    m.matching_seconds = 10e-9;
    simulation_options late;
    late.start = {5000 * ns, 200 * ns, 100 * ns, 0};

    // They came from 3, 2 and 1: the first receive passes two, the second one, the third none.
    EXPECT_EQ(simulate(layout_of("4x1"), three_to_one(8), m, late).slowest, (5000 + 20 + 10) * ns);
}

TEST(Simulate, AProbeTakesTheFirstOfTheUnexpectedMessagesInOneStep) {
    auto m = test::uniform_machine(100, 1000, 0);
    m.matching_seconds = 10e-9;
    schedule s;
    s.begin_rank();
    for (const rank_t peer : {1, 2, 3}) {
        auto probe = receive_from(peer, 8);
        probe.matching = matching_kind::probed;
        const auto taken = s.add(probe);
        s.add(send_to(peer, 8, 1), std::vector{taken});
    }
    for (int k = 0; k < 3; ++k) {
        s.begin_rank();
        s.add(send_to(0, 8));
        s.add(receive_from(0, 8, 1));
    }
    simulation_options late;
    late.start = {5000 * ns, 200 * ns, 100 * ns, 0};

    // Rank 0 takes them until 5300, first that of rank 3, and has answered 3 at 5400, 2 at 5500 and 1 at 5600.
    EXPECT_EQ(simulate(layout_of("4x1"), s, m, late).finish,
              (std::vector<picoseconds>{5600 * ns, 6700 * ns, 6600 * ns, 6500 * ns}));
}

TEST(Simulate, CopiesKeepTheCoreBusy) {
    auto m = test::uniform_machine(0, 0, 0);
    m.copy_seconds_per_byte = 1e-9;
    m.copy_seconds_per_item = 5e-9;
    schedule s;
    s.begin_rank();
    s.add(copy_of(16, 2));

    const auto outcome = simulate(layout_of("1x1"), s, m);

    EXPECT_EQ(outcome.slowest, 26 * ns);
    EXPECT_EQ(outcome.shares.copying, 26 * ns);
}

TEST(Simulate, RanksTakeTurnsWhereCoresAreShared) {
    auto m = test::uniform_machine(0, 0, 0);
    m.copy_seconds_per_byte = 1e-9;
    m.num_cores = 2;
    m.time_slice_seconds = 7e-9;
    schedule s;
    for (int rank = 0; rank < 4; ++rank) {
        s.begin_rank();
        s.add(copy_of(100, 0));
        s.add(copy_of(50, 0));
    }

    EXPECT_EQ(simulate(layout_of("1x4"), s, m).finish,
              (std::vector<picoseconds>{157 * ns, 157 * ns, 314 * ns, 314 * ns}));
}

TEST(Simulate, SharedCoresCarryTheBytesOfMessages) {
    auto m = test::uniform_machine(100, 1000, 2);
    m.injection_seconds_per_byte = 1;  // of no adapter
    m.num_cores = 2;

    const auto outcome = simulate(layout_of("2x1"), one_message(50), m);

    EXPECT_EQ(outcome.finish, (std::vector<picoseconds>{150 * ns, (150 + 1000 + 150) * ns}));
}

TEST(Simulate, AMessageWaitsUntilItsReceiverLooks) {
    auto m = test::uniform_machine(0, 35, 0);
    m.num_cores = 1;
    m.time_slice_seconds = 10e-9;
    schedule s;
    s.begin_rank();
    s.add(send_to(2, 8));
    s.begin_rank();
    s.begin_rank();
    s.add(receive_from(0, 8));

    // Rank 0 sends at 10; from there on ranks 1 2 0 1 2 look, the last one from 50 to 60.
    EXPECT_EQ(simulate(layout_of("3x1"), s, m).slowest, 60 * ns);
}

TEST(Simulate, TheSharesOfAllRanksAddUpToTheSlowestTimeEach) {
    const auto m = test::uniform_machine(100, 1000, 2);

    const auto outcome = simulate(layout_of("2x1"), one_message(11), m);

    const auto& shares = outcome.shares;
    EXPECT_EQ(shares.by_level[static_cast<std::size_t>(locality_level::network)],
              (100 + 1120 + 100) * ns);
    EXPECT_EQ(shares.idle, 1120 * ns);
    EXPECT_EQ(shares.copying, 0);
}

TEST(Simulate, RefusesWhatHasNoOtherEnd) {
    const auto m = test::uniform_machine(0, 0, 0);
    schedule s;
    s.begin_rank();
    s.add(send_to(1, 8));
    s.begin_rank();
    try {
        static_cast<void>(simulate(layout_of("2x1"), s, m));
        FAIL() << "nothing was thrown";
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_STREQ(fault.what(), "a message from rank 0 to rank 1 with tag 0 has no other end");
    }
}

TEST(Simulate, RefusesOperationsThatWaitForEachOther) {
    const auto m = test::uniform_machine(0, 0, 0);
    schedule s;
    for (const rank_t peer : {1, 0}) {
        s.begin_rank();
        const auto received = s.add(receive_from(peer, 8));
        s.add(send_to(peer, 8), std::vector{received});
    }
    try {
        static_cast<void>(simulate(layout_of("2x1"), s, m));
        FAIL() << "nothing was thrown";
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_STREQ(fault.what(), "4 of 4 operations wait for each other");
    }
}

}  // namespace
}  // namespace crossdock::simulate_test
