#include "crossdock/array/plan_batch.hpp"

#include <gtest/gtest.h>

#include <random>

#include "crossdock/pattern/pattern.hpp"
#include "crossdock/plan/verify.hpp"
#include "support/routes.hpp"

namespace crossdock {
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
            for (const auto& way : registered_combining()) {
                for (const bool locally : {true, false}) {
                    for (const bool on_the_way : {true, false}) {
                        SCOPED_TRACE(route_name + " " + way.name + " on " + where);
                        const auto batch =
                            plan_batch(regions, owners, route_name,
                                       {way.strategy, locally, on_the_way}, indices, true);
                        EXPECT_NO_THROW(verify(plans_of(batch), patterns));
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace crossdock
