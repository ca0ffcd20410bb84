// A thread for each rank, so that ThreadSanitizer sees the hand-over of items in shared memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crossdock/operation.hpp"
#include "crossdock/plan.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/schedules.hpp"

namespace crossdock::schedule_threads_test {
namespace {

using value = std::int64_t;

constexpr rank_t num_ranks = 4;
constexpr int num_exchanges = 4000;
constexpr count_t max_part_items = 2;
constexpr count_t items_per_stripe = 2;

value value_of(rank_t rank, count_t index, int exchange) {
    return 1000 * value{exchange} + 100 * rank + index;
}

std::vector<value> values_of(rank_t rank, count_t num_values, int exchange) {
    std::vector<value> values;
    for (count_t i = 0; i < num_values; ++i) values.push_back(value_of(rank, i, exchange));
    return values;
}

void add(std::byte* to, const std::byte* from, const copy_list& list) {
    sum op;
    combine_items(reinterpret_cast<value*>(to), reinterpret_cast<const value*>(from), list, op);
}

class ScheduleThreads : public testing::TestWithParam<const char*> {
  protected:
    const topology nodes = topology::from_string(GetParam(), num_ranks);
    const topology regions = topology::from_string("2x2");
    const std::vector<pattern> patterns = test::all_to_all_pattern(num_ranks);

    // Calls `run(rank, schedule_rank)` in a thread for each rank.
    template <class Run>
    void in_threads(test::make_task_graph way, Run&& run) {
        const auto plans = compile(regions, patterns, *make_route("three_step", regions));
        test::schedule_world world(
            test::build_schedules(plans, way, nodes, max_part_items, items_per_stripe), nodes,
            sizeof(value));
        std::vector<std::jthread> threads;
        for (rank_t rank = 0; rank < num_ranks; ++rank)
            threads.emplace_back([&, rank] { run(rank, world.rank(rank)); });
    }

    // Seldom sleeps, so that others get as far ahead as they may.
    static void exchange(test::schedule_rank& rank, const std::vector<value>& input,
                         std::vector<value>& output, std::mt19937_64& random) {
        rank.start(reinterpret_cast<const std::byte*>(input.data()),
                   reinterpret_cast<std::byte*>(output.data()), &add);
        do {
            if (random() % 512 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
            std::this_thread::yield();
        } while (!rank.test(static_cast<int>(random() % 4)));
    }

    std::atomic<int> num_mismatches = 0;
};

TEST_P(ScheduleThreads, BringEveryItemInEveryExchange) {
    in_threads(&forward_task_graph, [&](rank_t r, test::schedule_rank& rank) {
        std::mt19937_64 random(static_cast<std::uint64_t>(r));
        const auto& own = patterns[static_cast<std::size_t>(r)];
        const auto arrivals = test::arrivals(patterns, r);
        std::vector<value> slots(static_cast<std::size_t>(own.num_slots));
        for (int e = 0; e < num_exchanges; ++e) {
            exchange(rank, values_of(r, own.num_items, e), slots, random);
            for (const auto& a : arrivals) {
                if (slots[static_cast<std::size_t>(a.slot)] != value_of(a.source, a.item, e))
                    ++num_mismatches;
            }
        }
    });

    EXPECT_EQ(num_mismatches, 0);
}

TEST_P(ScheduleThreads, BringEverySumInEveryExchange) {
    in_threads(&reverse_task_graph, [&](rank_t r, test::schedule_rank& rank) {
        std::mt19937_64 random(static_cast<std::uint64_t>(r));
        const auto& own = patterns[static_cast<std::size_t>(r)];
        for (int e = 0; e < num_exchanges; ++e) {
            std::vector<value> items(static_cast<std::size_t>(own.num_items));
            std::vector<value> expected = items;
            for (const auto& p : patterns) {
                for (const auto& a : test::arrivals(patterns, p.rank)) {
                    if (a.source == r)
                        expected[static_cast<std::size_t>(a.item)] += value_of(p.rank, a.slot, e);
                }
            }
            exchange(rank, values_of(r, own.num_slots, e), items, random);
            if (items != expected) ++num_mismatches;
        }
    });

    EXPECT_EQ(num_mismatches, 0);
}

INSTANTIATE_TEST_SUITE_P(Nodes, ScheduleThreads, testing::Values("4", "2x2", "cyclic:2x2", "1,3"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return c == ',' || c == ':'; }, '_');
                             return name;
                         });

}  // namespace
}  // namespace crossdock::schedule_threads_test
