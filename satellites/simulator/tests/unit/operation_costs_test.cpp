#include "satellites/simulator/src/operation_costs.hpp"

#include <gtest/gtest.h>

#include "support/machines.hpp"

namespace crossdock::operation_costs_test {
namespace {

constexpr picoseconds ns = 1000;

// Ranks 0 and 1 are a node, rank 2 is another. Rank 0 copies (operation 0), sends 11 bytes to 1
// (1) and 101 to rank 2 (2), and hands 8 over to rank 1 (3). Rank 1 receives the 11 bytes (4).
schedule three_ranks() {
    const auto message = [](operation_kind kind, rank_t peer, count_t bytes) {
        operation what;
        what.kind = kind;
        what.peer = peer;
        what.message_bytes = bytes;
        return what;
    };
    schedule s;
    s.begin_rank();
    operation copy;
    copy.copied_bytes = 100;
    copy.copied_items = 3;
    s.add(copy);
    s.add(message(operation_kind::send, 1, 11));
    s.add(message(operation_kind::send, 2, 101));
    auto hand_over = message(operation_kind::send, 1, 8);
    hand_over.is_hand_over = true;
    s.add(hand_over);
    s.begin_rank();
    s.add(message(operation_kind::receive, 0, 11));
    s.begin_rank();
    return s;
}

// o = 5, L = 70, G = 2, in ns; above 100 bytes rendezvous with a latency of 90.
machine example() {
    auto m = test::uniform_machine(5, 70, 2);
    for (auto& level : m.levels) {
        level.rendezvous_bytes = 100;
        level.rendezvous.latency_seconds = 90e-9;
    }
    m.copy_seconds_per_byte = 1e-9;
    m.copy_seconds_per_item = 10e-9;
    m.matching_seconds = 4e-9;
    m.injection_seconds_per_byte = 3e-9;
    return m;
}

class OperationCosts : public testing::Test {
  protected:
    const rank_layout layout{topology::from_string("2,1")};
    const schedule s = three_ranks();
    machine m = example();
    const operation_costs costs{layout, s, m};
};

TEST_F(OperationCosts, NumbersCountOverAllRanks) {
    EXPECT_EQ(costs.rank_of(3), 0);
    EXPECT_EQ(costs.rank_of(4), 1);
    EXPECT_EQ(costs.at(4).peer, 0);
    EXPECT_EQ(costs.level_of(0), locality_level::self);
    EXPECT_EQ(costs.level_of(1), locality_level::region);
    EXPECT_EQ(costs.level_of(2), locality_level::network);
}

TEST_F(OperationCosts, CopyingTakesBytesAndItems) {
    EXPECT_EQ(costs.copying(0), 130 * ns);
    EXPECT_EQ(costs.copying(1), 0);
}

TEST_F(OperationCosts, OnlyMessagesHaveOverheadsAndOnlyReceivesAreMatched) {
    EXPECT_EQ(costs.overhead(0, locality_level::self, 0), 0);
    EXPECT_EQ(costs.overhead(1, locality_level::region, 0), 5 * ns);
    EXPECT_EQ(costs.overhead(3, locality_level::region, 0), 0);
    EXPECT_EQ(costs.overhead(4, locality_level::region, 2), 13 * ns);
}

TEST_F(OperationCosts, LongMessagesTakeTheLatencyOfRendezvous) {
    EXPECT_FALSE(costs.is_rendezvous(1));
    EXPECT_TRUE(costs.is_rendezvous(2));
    EXPECT_EQ(costs.eager_latency(2), 70 * ns);
    EXPECT_EQ(costs.rendezvous_latency(2), 90 * ns);
}

TEST_F(OperationCosts, AMessageOccupiesLinksForItsBytes) {
    EXPECT_EQ(costs.rank_link_time(1), 20 * ns);
    EXPECT_EQ(costs.rank_link_time(4), 20 * ns);
    EXPECT_EQ(costs.node_link_time(2), 303 * ns);
}

TEST_F(OperationCosts, SharedCoresCarryTheBytesInPlaceOfLinks) {
    m.num_cores = 1;

    EXPECT_EQ(costs.overhead(1, locality_level::region, 0), 16 * ns);
    EXPECT_EQ(costs.overhead(4, locality_level::region, 2), 24 * ns);
    EXPECT_EQ(costs.rank_link_time(1), 0);
    EXPECT_EQ(costs.node_link_time(2), 0);
}

}  // namespace
}  // namespace crossdock::operation_costs_test
