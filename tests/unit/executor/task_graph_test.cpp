#include "src/executor/task_graph.hpp"

#include <gtest/gtest.h>

#include "crossdock/plan.hpp"
#include "support/patterns.hpp"

namespace crossdock::task_graph_test {
namespace {

std::vector<plan> compile_for(const std::vector<pattern>& patterns, const char* regions,
                              const char* route) {
    const auto where = topology::from_string(regions, static_cast<rank_t>(patterns.size()));
    return compile(where, patterns, *make_route(route, where));
}

// Rank 0 sends its items 1 2 3 to slots 0 1 2 of rank 1, and its items 0 2 to slots 4 3 of rank 2.
std::vector<plan> runs_and_scatters() {
    test::pattern_builder builder(3);
    for (const count_t item : {1, 2, 3}) builder.send(0, item, 1);
    for (const count_t item : {0, 2}) builder.send(0, item, 2);
    auto patterns = builder.take();
    patterns[2].num_slots = 5;
    patterns[2].receives.indices = {4, 3};
    return compile_for(patterns, "3", "direct");
}

TEST(ForwardTaskGraph, SendsARunOfItemsInPlaceAndGathersOthers) {
    const task_graph f = forward_task_graph(runs_and_scatters()[0], memory_domain(0));

    ASSERT_EQ(f.outgoing.size(), 2u);
    EXPECT_EQ(f.outgoing[0].in_place_index, 1);
    EXPECT_FALSE(f.outgoing[1].is_in_place());
    EXPECT_EQ(f.fills[0].copy_input.size(), 0);
    EXPECT_EQ(f.fills[1].copy_input.size(), 2);
}

TEST(ForwardTaskGraph, ReceivesARunOfSlotsInPlaceAndScattersOthers) {
    const auto plans = runs_and_scatters();

    EXPECT_EQ(forward_task_graph(plans[1], memory_domain(1)).incoming.at(0).in_place_index, 0);
    EXPECT_FALSE(forward_task_graph(plans[2], memory_domain(2)).incoming.at(0).is_in_place());
}

// Rank 0 to rank 3 by way of rank 2, which keeps a copy.
std::vector<plan> kept_on_the_way() {
    test::pattern_builder builder(4);
    builder.send(0, 0, 2);
    builder.send(0, 0, 3);
    return compile_for(builder.take(), "2x2", "two_step");
}

TEST(ForwardTaskGraph, AMessageThatIsForwardedIsNotReceivedInPlace) {
    const task_graph f = forward_task_graph(kept_on_the_way()[2], memory_domain(2));

    ASSERT_EQ(f.outgoing.size(), 1u);
    EXPECT_EQ(f.outgoing[0].peer, 3);
    EXPECT_EQ(f.outgoing[0].stage, 1);
    EXPECT_EQ(f.fills[0].copy_arrived.size(), 1);
    EXPECT_FALSE(f.incoming[0].is_in_place());
}

TEST(ReverseTaskGraph, CombinesWhatWasSentToSeveralBeforeItTravelsOn) {
    const task_graph f = reverse_task_graph(kept_on_the_way()[2], memory_domain(2));

    ASSERT_EQ(f.outgoing.size(), 1u);
    EXPECT_EQ(f.outgoing[0].peer, 0);
    EXPECT_EQ(f.outgoing[0].num_items, 1);
    EXPECT_EQ(f.fills[0].copy_input.size(), 1);
    EXPECT_EQ(f.fills[0].combine_arrived.size(), 1);
    EXPECT_EQ(f.num_stages, 2);  // which count up in its own direction
    EXPECT_EQ(f.incoming.at(0).stage, 0);
    EXPECT_EQ(f.outgoing[0].stage, 1);
}

// Rank 0 sends its item 0 to ranks 2 and 1, one by way of the other's region.
TEST(ReverseTaskGraph, CombinesWhatComesBackInTheOrderOfRanks) {
    test::pattern_builder builder(4);
    for (const rank_t destination : {0, 1, 2, 3}) builder.send(0, 0, destination);
    const auto regions = topology::from_string("cyclic:2x2");
    const auto own = compile(regions, builder.take(), *make_route("two_step", regions),
                             {.deduplicate = false})[0];
    ASSERT_EQ(own.item_destinations().size(), 3u);

    const task_graph f = reverse_task_graph(own, memory_domain(0));

    ASSERT_EQ(f.outputs.size(), 1u);
    EXPECT_EQ(f.outputs[0].combine_input.size(), 1);
    const auto& list = f.outputs[0].combine_arrived;
    ASSERT_EQ(list.size(), 3);
    std::vector<rank_t> order;
    list.from.with_lookup([&](auto from) {
        for (count_t k = 0; k < list.size(); ++k)
            order.push_back(own.item_destinations()[static_cast<std::size_t>(from(k))]);
    });
    EXPECT_EQ(order, (std::vector<rank_t>{1, 2, 3}));
}

TEST(ForwardTaskGraph, NothingIsInPlaceBetweenRanksThatShareMemory) {
    const auto plans = runs_and_scatters();

    const auto nodes = topology::from_string("2,1");
    const task_graph sent = forward_task_graph(plans[0], {nodes, 0});
    const task_graph received = forward_task_graph(plans[1], {nodes, 1});

    EXPECT_TRUE(sent.outgoing.at(0).is_shared);
    EXPECT_FALSE(sent.outgoing.at(0).is_in_place());
    EXPECT_FALSE(sent.outgoing.at(1).is_shared);
    EXPECT_TRUE(received.incoming.at(0).is_shared);
    EXPECT_FALSE(received.incoming.at(0).is_in_place());
}

TEST(ReverseTaskGraph, SendsARunOfSlotsInPlace) {
    const auto plans = runs_and_scatters();

    EXPECT_EQ(reverse_task_graph(plans[1], memory_domain(1)).outgoing.at(0).in_place_index, 0);
    EXPECT_FALSE(reverse_task_graph(plans[2], memory_domain(2)).outgoing.at(0).is_in_place());
    EXPECT_FALSE(reverse_task_graph(plans[0], memory_domain(0)).incoming.at(0).is_in_place());
}

}  // namespace
}  // namespace crossdock::task_graph_test
