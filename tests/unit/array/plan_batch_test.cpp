#include "tools/inputs/plan_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::plan_batch_test {
namespace {

using index_lists = std::vector<std::vector<count_t>>;

// What the owners send whom, if nothing is combined and every request has a slot of its own.
std::vector<pattern> patterns_of(const block_partition& owners, const index_lists& indices) {
    std::vector<pattern> result(indices.size());
    for (rank_t rank = 0; rank < owners.num_ranks(); ++rank) {
        pattern& own = result[static_cast<std::size_t>(rank)];
        const auto& list = indices[static_cast<std::size_t>(rank)];
        own.rank = rank;
        own.num_ranks = owners.num_ranks();
        own.num_items = owners.size(rank);
        own.num_slots = static_cast<count_t>(list.size());
        for (count_t slot = 0; slot < own.num_slots; ++slot) {
            const count_t index = list[static_cast<std::size_t>(slot)];
            const rank_t owner = owners.owner(index);
            own.receives.append(owner, std::vector<count_t>{slot});
            result[static_cast<std::size_t>(owner)].sends.append(
                rank, std::vector<count_t>{index - owners.first(owner)});
        }
    }
    return result;
}

bool is_before(const delivery& a, const delivery& b) {
    return std::pair(a.position, a.slot) < std::pair(b.position, b.slot);
}

std::vector<plan> plans_of(const std::vector<planned_batch>& batch) {
    std::vector<plan> plans;
    for (const auto& one : batch) plans.push_back(one.again.value());
    return plans;
}

index_lists random_requests(rank_t num_ranks, count_t num_entries) {
    std::mt19937_64 draw(7);
    index_lists result(static_cast<std::size_t>(num_ranks));
    for (auto& list : result) {
        const auto count = draw() % 40;
        for (std::uint64_t k = 0; k < count; ++k)
            list.push_back(static_cast<count_t>(draw() % static_cast<std::uint64_t>(num_entries)));
    }
    return result;
}

TEST(PlanBatch, EveryRouteAndStrategyBringsEveryRequestItsEntry) {
    for (const char* const where : {"1x1", "2x2", "3x4", "5,1,3", "cyclic:4x4", "1x7"}) {
        const auto regions = topology::from_string(where);
        const auto owners = block_partition::blocks(23, regions.num_ranks());
        const auto indices = random_requests(regions.num_ranks(), 23);
        const auto patterns = patterns_of(owners, indices);
        for (const auto& route_name : test::conformance_routes()) {
            for (const auto& one : registered_combining()) {
                for (const bool locally : {true, false}) {
                    for (const bool on_the_way : {true, false}) {
                        SCOPED_TRACE(route_name + " " + one.name + " on " + where);
                        const auto batch =
                            plan_batch(regions, owners, route_name,
                                       {one.strategy, locally, on_the_way}, indices, true);
                        const auto plans = plans_of(batch);
                        EXPECT_NO_THROW(verify(plans, patterns));
                        for (const auto& p : plans)
                            EXPECT_TRUE(std::ranges::is_sorted(p.deliveries(), is_before));
                    }
                }
            }
        }
    }
}

index_lists same_for_all(rank_t num_ranks, const std::vector<count_t>& indices) {
    return index_lists(static_cast<std::size_t>(num_ranks), indices);
}

// Every rank requests every entry; asserts how often each of them is requested of its owner by
// other ranks in the last stage.
void expect_overload(rank_t num_ranks, const std::string& route_name, count_t num_arrivals) {
    SCOPED_TRACE(route_name + " on " + std::to_string(num_ranks) + " ranks");
    for (const count_t num_entries : {1, 8, 100}) {
        std::vector<count_t> all(static_cast<std::size_t>(num_entries));
        std::iota(all.rbegin(), all.rend(), count_t{0});
        const auto owners = block_partition::blocks(num_entries, num_ranks);
        const auto batch = plan_batch(topology::one_region(num_ranks), owners, route_name, {},
                                      same_for_all(num_ranks, all), false);
        for (rank_t rank = 0; rank < num_ranks; ++rank) {
            const auto& one = batch[static_cast<std::size_t>(rank)].statistics;
            EXPECT_EQ(one.arrived, num_arrivals * owners.size(rank));
            EXPECT_EQ(one.requests, num_entries);
            EXPECT_EQ(one.combined_locally, 0);
        }
    }
}

TEST(PlanBatch, AnOverloadedEntryIsRequestedOnceOnAHypercube) {
    expect_overload(1, "hypercube", 0);
    for (const rank_t num_ranks : {2, 4, 8, 64, 256}) expect_overload(num_ranks, "hypercube", 1);
}

TEST(PlanBatch, AnOverloadedEntryIsRequestedByTheLastDimensionOnAGrid) {
    expect_overload(8, "grid:4x2", 1);
    expect_overload(8, "grid:2x4", 3);
    expect_overload(15, "grid:3x5", 4);
    expect_overload(64, "grid:8x8", 7);
    expect_overload(42, "grid:2x3x7", 6);
}

TEST(PlanBatch, AnOverloadedEntryIsRequestedByAllOthersDirectly) {
    for (const rank_t num_ranks : {1, 2, 5, 8, 64})
        expect_overload(num_ranks, "direct", num_ranks - 1);
}

// The example of `distributed_array`, with every request made twice.
std::vector<planned_batch> plan_example(const combining_options& options) {
    return plan_batch(topology::from_string("2x2"), block_partition::blocks(8, 4), "hypercube",
                      options, same_for_all(4, {6, 6}), false);
}

struct stage_counts {
    count_t messages, items, received, combined, empty_messages;
    friend bool operator==(const stage_counts&, const stage_counts&) = default;
};

std::vector<stage_counts> counts_of(const array_statistics& one) {
    std::vector<stage_counts> result;
    for (const auto& stage : one.stages) {
        result.push_back({stage.sent.messages, stage.sent.items, stage.received, stage.combined,
                          stage.empty_messages});
    }
    return result;
}

void expect_example(const std::vector<planned_batch>& batch, count_t num_combined_locally,
                    const std::vector<std::vector<stage_counts>>& expected, count_t num_arrived) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
        SCOPED_TRACE(rank);
        const auto& one = batch[rank].statistics;
        EXPECT_EQ(one.requests, 2);
        EXPECT_EQ(one.combined_locally, num_combined_locally);
        EXPECT_EQ(counts_of(one), expected[rank]);
        EXPECT_EQ(one.arrived, rank == 3 ? num_arrived : 0);
        // Stage 0 leads to the other region and stage 1 stays in it.
        EXPECT_EQ(one.stages[0].sent.inter_region_messages, one.stages[0].sent.messages);
        EXPECT_EQ(one.stages[0].sent.inter_region_items, one.stages[0].sent.items);
        EXPECT_EQ(one.stages[1].sent.inter_region_messages, 0);
        EXPECT_EQ(one.stages[1].sent.inter_region_items, 0);
    }
}

TEST(PlanBatch, CountsWhatIsSentAndCombined) {
    for (const auto& one : registered_combining()) {
        for (const bool locally : {true, false}) {
            for (const bool on_the_way : {true, false}) {
                SCOPED_TRACE(one.name);
                const bool may_combine = one.strategy != combining::none;
                const count_t each = may_combine && locally ? 1 : 2;
                const bool meet = may_combine && on_the_way;
                const count_t forwarded = meet ? 1 : 2 * each;
                const count_t combined = meet ? 2 * each - 1 : 0;
                expect_example(plan_example({one.strategy, locally, on_the_way}), 2 - each,
                               {{{1, each, 0, 0, 0}, {0, 0, 0, 0, 1}},
                                {{1, each, 0, 0, 0}, {0, 0, 0, 0, 1}},
                                {{0, 0, each, combined, 1}, {1, forwarded, 0, 0, 0}},
                                {{0, 0, each, combined, 1}, {0, 0, forwarded, 0, 1}}},
                               forwarded);
            }
        }
    }
}

// Local memory does not matter here, so that indices may be as large as they come.
TEST(PlanBatch, TakesIndicesOfAnyWidth) {
    for (const count_t num_entries :
         {count_t{1} << 32, (count_t{1} << 32) + 1, count_t{1} << 40, count_t{1} << 62}) {
        const auto owners = block_partition::blocks(num_entries, 5);
        const count_t last = num_entries - 1;
        const auto indices = same_for_all(5, {last, 0, last - 1, last, num_entries / 2});
        for (const auto& one : registered_combining()) {
            SCOPED_TRACE(one.name + " of " + std::to_string(num_entries));
            const auto batch = plan_batch(topology::one_region(5), owners, "direct",
                                          {one.strategy, true, true}, indices, false);
            const bool is_combined = one.strategy != combining::none;
            EXPECT_EQ(batch[4].statistics.arrived, is_combined ? 8 : 12);
            EXPECT_EQ(batch[0].statistics.arrived, 4);
            EXPECT_EQ(batch[1].statistics.arrived, 0);
            EXPECT_EQ(batch[2].statistics.arrived, 4);
            EXPECT_EQ(batch[3].statistics.combined_locally, is_combined ? 1 : 0);
        }
    }
}

TEST(PlanBatch, TakesArraysWithoutEntriesAndRanksWithout) {
    const auto regions = topology::one_region(5);
    for (const auto& route_name : test::conformance_routes()) {
        SCOPED_TRACE(route_name);
        const auto none = plan_batch(regions, block_partition::blocks(0, 5), route_name, {},
                                     same_for_all(5, {}), false);
        EXPECT_EQ(none[4].statistics.requests, 0);
        EXPECT_EQ(none[4].statistics.arrived, 0);

        const auto owners = block_partition::from_sizes({0, 0, 3, 0, 0});
        const auto indices = same_for_all(5, {2, 0, 1, 1, 2});
        const auto batch = plan_batch(regions, owners, route_name, {}, indices, true);
        EXPECT_NO_THROW(verify(plans_of(batch), patterns_of(owners, indices)));
    }
}

TEST(PlanBatch, RefusesWhatDoesNotFit) {
    const auto fault_of = [](rank_t num_owners, const index_lists& indices, const char* route) {
        return test::thrown_by([&] {
            plan_batch(topology::one_region(4), block_partition::blocks(9, num_owners), route, {},
                       indices, false);
        });
    };
    const auto lists = same_for_all(4, {1, 2});

    for (const count_t bad : {count_t{9}, count_t{-1}, (count_t{1} << 32) + 3}) {
        auto outside = lists;
        outside[2].push_back(bad);
        EXPECT_EQ(fault_of(4, outside, "direct").code(), errc::index_out_of_range);
        EXPECT_EQ(fault_of(4, outside, "direct").rank(), 2);
    }
    EXPECT_EQ(fault_of(4, same_for_all(3, {1}), "direct").code(), errc::size_mismatch);
    EXPECT_EQ(fault_of(3, lists, "direct").code(), errc::size_mismatch);
    EXPECT_EQ(fault_of(4, lists, "teleport").code(), errc::unknown_route);
}

}  // namespace
}  // namespace crossdock::plan_batch_test
