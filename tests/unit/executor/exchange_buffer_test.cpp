#include <gtest/gtest.h>

#include "crossdock/plan.hpp"
#include "src/executor/schedule_runner.hpp"
#include "support/patterns.hpp"
#include "support/schedules.hpp"

namespace crossdock::exchange_buffer_test {
namespace {

// Every rank sends 500 items to every other.
std::vector<plan> plans_on(const topology& regions, const char* route) {
    test::pattern_builder builder(regions.num_ranks());
    for (rank_t source = 0; source < regions.num_ranks(); ++source) {
        for (rank_t destination = 0; destination < regions.num_ranks(); ++destination) {
            if (destination == source) continue;
            for (count_t item = 0; item < 500; ++item) builder.send(source, item, destination);
        }
    }
    return compile(regions, builder.take(), *make_route(route, regions), {.deduplicate = false});
}

std::size_t bytes_through(const plan& p, std::size_t item_bytes) {
    std::size_t items = 0;
    for (const auto& stage : p.stages()) {
        for (const auto& m : stage.sends) items += m.positions.size();
        for (const auto& m : stage.receives) items += static_cast<std::size_t>(m.num_items);
    }
    return items * item_bytes;
}

class ExchangeBuffer : public testing::TestWithParam<const char*> {};

TEST_P(ExchangeBuffer, TakesLittleMoreThanTheBytesThatPassThroughARankTwiceIfItIsShared) {
    const auto regions = topology::from_string("2x4");
    const auto plans = plans_on(regions, GetParam());

    for (const auto& nodes : {regions, topology::one_region(8), topology::from_string("8x1")}) {
        const std::size_t num_halves = nodes.num_regions() == 8 ? 1 : 2;
        const auto all = test::build_schedules(plans, forward_task_graph, nodes, 1 << 20);
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const std::size_t bytes = exchange_buffer::size_bytes(*all[rank], 8);
            const std::size_t least = num_halves * bytes_through(plans[rank], 8);
            EXPECT_LE(10 * bytes, 11 * least) << rank;
            if (num_halves == 2) {
                EXPECT_GE(bytes, least) << rank;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Routes, ExchangeBuffer,
                         testing::Values("direct", "two_step", "three_step", "hypercube"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace crossdock::exchange_buffer_test
