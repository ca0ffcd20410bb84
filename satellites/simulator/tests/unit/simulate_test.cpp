#include "crossdock/simulate.hpp"

#include <gtest/gtest.h>

#include "crossdock/schedule.hpp"
#include "support.hpp"
#include "support/machines.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::simulate_test {
namespace {

using namespace test;

constexpr picoseconds ns = 1000;

schedule one_message(count_t bytes) {
    return made_of({{send_to(1, bytes)}, {receive_from(0, bytes)}});
}

TEST(Simulate, OneMessageTakesTwoOverheadsTheLatencyAndItsBytesButOne) {
    const auto outcome = simulate(layout_of("2x1"), one_message(11), uniform_machine(100, 1000, 2));

    EXPECT_EQ(finish_ns(outcome), (times{100, 100 + 1000 + 20 + 100}));
    EXPECT_EQ(outcome.slowest, 1220 * ns);
}

TEST(Simulate, MessagesOfOneRankFollowEachOtherByOverheadOrBytes) {
    const auto s = made_of({{send_to(1, 1), send_to(2, 301), send_to(3, 1)},
                            {receive_from(0, 1)},
                            {receive_from(0, 301)},
                            {receive_from(0, 1)}});

    // The core is done at 100, 200 and 300; the way out is taken from 200 to 800.
    EXPECT_EQ(finish_ns(simulate(layout_of("4x1"), s, uniform_machine(100, 1000, 2))),
              (times{300, 1200, 200 + 1000 + 600 + 100, 800 + 1000 + 100}));
}

TEST(Simulate, ReceivingTakesTheCoreOneMessageAfterTheOther) {
    const auto m = uniform_machine(100, 1000, 0);

    EXPECT_EQ(simulate(layout_of("4x1"), all_to_first(4, 8), m).slowest,
              (100 + 1000 + 3 * 100) * ns);
}

TEST(Simulate, AMessageLeavesWhenAllItForwardsHasCome) {
    const auto s = made_of({{send_to(1, 8)},
                            {receive_from(0, 8), receive_from(2, 8), send_to(3, 16).after({0, 1})},
                            {send_to(1, 8)},
                            {receive_from(1, 16)}});
    simulation_options late;
    late.start = {0, 0, 500 * ns, 0};

    EXPECT_EQ(simulate(layout_of("4x1"), s, uniform_machine(100, 1000, 0), late).slowest,
              (500 + 100 + 1000 + 100 + 100 + 1000 + 100) * ns);
}

// LogGP with o = 100, L = 1000, G = 2: a message of s bytes that nothing delays is taken
// o + L + (s - 1) G + o after it is begun.
class SimulateLogGP : public testing::Test {
  protected:
    const machine m = uniform_machine(100, 1000, 2);
};

TEST_F(SimulateLogGP, InARingAllAreDoneAfterOneMessage) {
    std::vector<std::vector<step>> ranks;
    for (rank_t rank = 0; rank < 5; ++rank)
        ranks.push_back({receive_from((rank + 4) % 5, 11), send_to((rank + 1) % 5, 11)});

    EXPECT_EQ(finish_ns(simulate(layout_of("5x1"), made_of(ranks), m)),
              times(5, 100 + 1000 + 10 * 2 + 100));
}

TEST_F(SimulateLogGP, FanInTakesTheBytesOfAllOneAfterTheOther) {
    // First bytes are there at 1100, and the way in takes 200 for each: last bytes at 1300, 1500 and
    // 1700; the core is done 100 later, before the next one is there.
    EXPECT_EQ(finish_ns(simulate(layout_of("4x1"), all_to_first(4, 101), m)),
              (times{1800, 100, 100, 100}));
}

TEST_F(SimulateLogGP, FanOutTakesTheBytesOfAllOneAfterTheOther) {
    const std::vector<step> received{receive_from(0, 101)};
    const auto s = made_of(
        {{send_to(1, 101), send_to(2, 101), send_to(3, 101)}, received, received, received});

    // The core is done at 100, 200 and 300; the way out begins at 100, 300 and 500, 200 for each.
    // Then L, the other 100 bytes, and o.
    EXPECT_EQ(finish_ns(simulate(layout_of("4x1"), s, m)),
              (times{300, 100 + 1000 + 200 + 100, 300 + 1000 + 200 + 100, 500 + 1000 + 200 + 100}));
}

TEST_F(SimulateLogGP, APipelineTakesOneMessageAfterTheOther) {
    const auto s = made_of({{send_to(1, 11)},
                            {receive_from(0, 11), send_to(2, 11).after({0})},
                            {receive_from(1, 11)}});

    // 1220 for one message; the second begins then.
    EXPECT_EQ(finish_ns(simulate(layout_of("3x1"), s, m)), (times{100, 1220 + 100, 2 * 1220}));
}

TEST_F(SimulateLogGP, AStageOfAPlanWaitsForWhatItForwardsOnly) {
    const auto layout = layout_of("2x2");
    const auto s =
        schedule_of(layout, plans_of({{2, 3}, {3}, {}, {}}, "2x2", "two_step"), {8, false});

    // Rank 0 sends to 2, which has it at 100 + 1000 + 7 * 2 + 100 = 1214 and sends to 3 until 1314;
    // 3 has it another 1014 + 100 later, and what 1 sent it at 1214.
    EXPECT_EQ(finish_ns(simulate(layout, s, m)), (times{100, 100, 1314, 2428}));
}

TEST(Simulate, ALateReceiveDelaysTheDataOfARendezvousOnly) {
    auto m = uniform_machine(100, 1000, 1);
    for (auto& level : m.levels) {
        level.rendezvous.latency_seconds = 3000e-9;
        level.rendezvous_bytes = 100;
    }
    simulation_options late;
    late.start = {0, 5000 * ns};
    const auto layout = layout_of("2x1");

    EXPECT_EQ(simulate(layout, one_message(101), m).slowest, (100 + 3000 + 100 + 100) * ns);
    EXPECT_EQ(simulate(layout, one_message(101), m, late).slowest, (5000 + 2000 + 100 + 100) * ns);
    EXPECT_EQ(simulate(layout, one_message(100), m, late).slowest, (5000 + 100) * ns);
}

TEST(Simulate, RanksOfANodeShareItsWayToOtherNodes) {
    auto m = uniform_machine(0, 1000, 1);
    m.injection_seconds_per_byte = 2e-9;
    const auto s = made_of(
        {{send_to(2, 101)}, {send_to(3, 101)}, {receive_from(0, 101)}, {receive_from(1, 101)}});

    // The second message may begin at 202; the node takes in each for 202 as well.
    EXPECT_EQ(finish_ns(simulate(layout_of("2x2"), s, m)), (times{0, 0, 1202, 1404}));
    EXPECT_EQ(simulate(layout_of("1x4"), s, m).slowest, 1100 * ns);
}

TEST(Simulate, AMessagePaysForTheReceivesThatWaitBeforeItsOwn) {
    auto m = uniform_machine(0, 1000, 0);
    m.matching_seconds = 10e-9;
    const auto s = all_to_first(4, 8);
    simulation_options reversed;
    reversed.start = {0, 200 * ns, 100 * ns, 0};

    EXPECT_EQ(simulate(layout_of("4x1"), s, m).slowest, 1000 * ns);
    // The last of three comes first and passes two, then the second passes one.
    const auto outcome = simulate(layout_of("4x1"), s, m, reversed);
    EXPECT_EQ(outcome.shares.by_level[static_cast<std::size_t>(locality_level::network)],
              (20 + 10) * ns + (1000 + (100 - 20) + (100 - 10)) * ns);
}

TEST(Simulate, AReceiveThatIsLatePaysForTheMessagesThatCameBeforeItsOwn) {
    auto m = uniform_machine(0, 1000, 0);
    m.matching_seconds = 10e-9;
    simulation_options late;
    late.start = {5000 * ns, 200 * ns, 100 * ns, 0};

    // They came from 3, 2 and 1: the first receive passes two, the second one, the third none.
    EXPECT_EQ(simulate(layout_of("4x1"), all_to_first(4, 8), m, late).slowest,
              (5000 + 20 + 10) * ns);
}

TEST(Simulate, AProbeTakesTheFirstOfTheUnexpectedMessagesInOneStep) {
    auto m = uniform_machine(100, 1000, 0);
    m.matching_seconds = 10e-9;
    std::vector<std::vector<step>> ranks(1);
    for (const rank_t peer : {1, 2, 3}) {
        auto probe = receive_from(peer, 8);
        probe.what.matching = matching_kind::probed;
        ranks[0].push_back(probe);
        ranks[0].push_back(
            send_to(peer, 8, 1).after({static_cast<std::uint32_t>(ranks[0].size() - 1)}));
        ranks.push_back({send_to(0, 8), receive_from(0, 8, 1)});
    }
    simulation_options late;
    late.start = {5000 * ns, 200 * ns, 100 * ns, 0};

    // Rank 0 takes them until 5300, first that of rank 3, and has answered 3 at 5400, 2 at 5500 and 1 at 5600.
    EXPECT_EQ(finish_ns(simulate(layout_of("4x1"), made_of(ranks), m, late)),
              (times{5600, 6700, 6600, 6500}));
}

TEST(Simulate, CopiesKeepTheCoreBusy) {
    auto m = uniform_machine(0, 0, 0);
    m.copy_seconds_per_byte = 1e-9;
    m.copy_seconds_per_item = 5e-9;

    const auto outcome = simulate(layout_of("1x1"), made_of({{copy_of(16, 2)}}), m);

    EXPECT_EQ(outcome.slowest, 26 * ns);
    EXPECT_EQ(outcome.shares.copying, 26 * ns);
}

TEST(Simulate, RanksTakeTurnsWhereCoresAreShared) {
    auto m = uniform_machine(0, 0, 0);
    m.copy_seconds_per_byte = 1e-9;
    m.num_cores = 2;
    m.time_slice_seconds = 7e-9;
    const std::vector<std::vector<step>> ranks(4, {copy_of(100), copy_of(50)});

    EXPECT_EQ(finish_ns(simulate(layout_of("1x4"), made_of(ranks), m)),
              (times{157, 314, 157, 314}));
}

TEST(Simulate, SharedCoresCarryTheBytesOfMessages) {
    auto m = uniform_machine(100, 1000, 2);
    m.injection_seconds_per_byte = 1;  // of no adapter
    m.num_cores = 2;

    EXPECT_EQ(finish_ns(simulate(layout_of("2x1"), one_message(50), m)),
              (times{150, 150 + 1000 + 150}));
}

TEST(Simulate, AMessageWaitsUntilItsReceiverLooks) {
    auto m = uniform_machine(0, 35, 0);
    m.num_cores = 1;
    m.time_slice_seconds = 10e-9;
    const auto s = made_of({{send_to(2, 8)}, {}, {receive_from(0, 8)}});

    // Rank 0 sends at 10; from there on ranks 1 2 0 1 2 look, the last one from 50 to 60.
    EXPECT_EQ(simulate(layout_of("3x1"), s, m).slowest, 60 * ns);
}

TEST(Simulate, TheSharesOfAllRanksAddUpToTheSlowestTimeEach) {
    const auto outcome = simulate(layout_of("2x1"), one_message(11), uniform_machine(100, 1000, 2));

    const auto& shares = outcome.shares;
    EXPECT_EQ(shares.by_level[static_cast<std::size_t>(locality_level::network)],
              (100 + 1120 + 100) * ns);
    EXPECT_EQ(shares.idle, 1120 * ns);
    EXPECT_EQ(shares.copying, 0);
}

TEST(Simulate, RefusesWhatHasNoOtherEndAndOperationsThatWaitForEachOther) {
    const auto fault_of = [](const schedule& s) {
        return thrown_by(
            [&] { return simulate(layout_of("2x1"), s, uniform_machine(0, 0, 0)).slowest; });
    };
    const auto alone = fault_of(made_of({{send_to(1, 8)}, {}}));
    EXPECT_EQ(alone.code(), errc::invalid_argument);
    EXPECT_STREQ(alone.what(), "a message from rank 0 to rank 1 with tag 0 has no other end");

    const auto waiting = fault_of(made_of({{receive_from(1, 8), send_to(1, 8).after({0})},
                                           {receive_from(0, 8), send_to(0, 8).after({0})}}));
    EXPECT_EQ(waiting.code(), errc::invalid_argument);
    EXPECT_STREQ(waiting.what(), "4 of 4 operations wait for each other");
}

}  // namespace
}  // namespace crossdock::simulate_test
