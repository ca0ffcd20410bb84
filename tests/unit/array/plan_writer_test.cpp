#include "src/array/plan_writer.hpp"

#include <gtest/gtest.h>

#include "src/array/plan_batch.hpp"

namespace crossdock::plan_writer_test {
namespace {

// The example of `distributed_array`: all of four ranks read entry 6, rank 2 twice.
std::vector<plan> plans_of_example() {
    const std::vector<std::vector<count_t>> indices{{6}, {6}, {6, 6}, {6}};
    std::vector<plan> result;
    for (auto& one : plan_batch(topology::one_region(4), block_partition::blocks(8, 4), "hypercube",
                                {}, indices, true))
        result.push_back(std::move(one.again.value()));
    return result;
}

plan::contents contents_of(rank_t rank, count_t num_slots) {
    plan::contents result;
    result.rank = rank;
    result.num_ranks = 4;
    result.route_name = "hypercube";
    result.num_items = 2;
    result.num_slots = num_slots;
    result.stages.resize(2);
    return result;
}

TEST(PlanWriter, LetsRepliesTravelBackAsTheRequestsCame) {
    const auto plans = plans_of_example();

    auto owner = contents_of(3, 1);
    owner.stages[0].sends = {{2, {0}}};
    owner.stages[1].sends = {{1, {0}}};
    owner.deliveries = {{0, 0}};
    EXPECT_EQ(plans[3], plan(owner));

    auto intermediate = contents_of(2, 2);
    intermediate.stages[0].receives = {{3, 2, 1}};
    intermediate.stages[1].sends = {{0, {2}}};
    intermediate.deliveries = {{2, 0}, {2, 1}};
    EXPECT_EQ(plans[2], plan(intermediate));

    auto reader = contents_of(0, 1);
    reader.stages[1].receives = {{2, 2, 1}};
    reader.deliveries = {{2, 0}};
    EXPECT_EQ(plans[0], plan(reader));
}

// Three requests among a thousand entries are sorted, seven of two entries counted.
TEST(PlanWriter, OrdersDeliveriesByPositionThenSlot) {
    const auto deliveries_of = [](count_t num_entries, const std::vector<count_t>& indices) {
        return plan_batch(topology::one_region(1), block_partition::blocks(num_entries, 1),
                          "direct", {}, std::vector<std::vector<count_t>>{indices}, true)[0]
            .again->deliveries();
    };
    EXPECT_EQ(deliveries_of(1000, {999, 3, 999}),
              (std::vector<delivery>{{3, 1}, {999, 0}, {999, 2}}));
    EXPECT_EQ(deliveries_of(2, {1, 0, 1, 1, 0, 0, 1}),
              (std::vector<delivery>{{0, 1}, {0, 4}, {0, 5}, {1, 0}, {1, 2}, {1, 3}, {1, 6}}));
}

}  // namespace
}  // namespace crossdock::plan_writer_test
