// Plans on a communicator that has seen others: arguments are checked in passing, and plans are found again.
#include <gtest/gtest.h>

#include <cstdlib>

#include "crossdock/neighbor_exchange.hpp"
#include "src/base/named_values_mpi.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "src/select/plan_cache_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::planning_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

class Planning : public test::AllRanks {
  protected:
    plan compile_here(const std::vector<pattern>& patterns, const char* route = "direct") {
        return compile(context(comm, regions), mine(patterns), route);
    }
    plan compiled_offline(const std::vector<pattern>& patterns, const std::string& route,
                          const compile_options& options = {}) {
        return compile(regions, patterns, *make_route(route, regions),
                       options)[static_cast<std::size_t>(rank)];
    }

    topology regions = one_region;
    std::vector<pattern> ring = test::ring_pattern(num_ranks);
};

TEST_F(Planning, ArgumentsThatDifferAreRefusedInPassing) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    for (const auto* route : {"direct", "two_step", "three_step", "hypercube"}) {
        ASSERT_EQ(compile_here(ring, route), compiled_offline(ring, route));

        const error routes =
            thrown_by([&] { compile_here(ring, rank == 0 ? "direct" : "grid:2"); });
        EXPECT_EQ(routes.code(), errc::invalid_argument);
        EXPECT_STREQ(routes.what(),
                     "rank 1 has route = grid:2, rank 0 has direct; give all ranks the same");
        const error topologies = thrown_by([&] {
            return compile(context(comm, rank == 1 ? one_region : each_alone), mine(ring), route);
        });
        EXPECT_EQ(topologies.code(), errc::invalid_argument);
        EXPECT_TRUE(std::string_view(topologies.what()).starts_with("rank 1 has topology = "))
            << topologies.what();
        const auto list = [&](named_values& values) { values.add("color", rank % 2); };
        const error more = thrown_by([&] {
            return compile(context(comm, regions), mine(ring), route, {},
                           equal_arguments("a picture", list));
        });
        EXPECT_EQ(more.code(), errc::invalid_argument);
        EXPECT_STREQ(more.what(), "rank 1 has color = 1, rank 0 has 0; give all ranks the same");
    }
    EXPECT_EQ(compile_here(ring), compiled_offline(ring, "direct"));
}

TEST_F(Planning, AFaultOfOneRankIsToldInPassing) {
    compile_here(ring, "two_step");
    pattern p = mine(ring);
    if (rank == num_ranks - 1) p.sends.ranks[0] = -4;
    for (const auto* route : {"direct", "three_step", "grid:2"}) {
        expect_thrown(errc::rank_out_of_range, num_ranks - 1,
                      [&] { return compile(context(comm, regions), p, route); });
    }
    expect_thrown(errc::size_mismatch, [&] {
        return compile(context(comm, topology::from_string("3x7")), mine(ring), "direct");
    });
    EXPECT_EQ(compile_here(ring), compiled_offline(ring, "direct"));
}

// Exchanges of these ranks find the plans of those before.
class KeptPlans : public Planning {
  protected:
    neighbor_exchange made(const std::vector<pattern>& patterns, const std::string& route,
                           bool deduplicate = true) {
        return {
            context(comm, regions), mine(patterns), {.route = route, .deduplicate = deduplicate}};
    }
    static const plan* plan_of(const neighbor_exchange& halo) { return &halo.plan(); }

    std::vector<pattern> all = test::all_to_all_pattern(num_ranks);
};

TEST_F(KeptPlans, ExchangesWithEqualPatternsShareAPlan) {
    for (const auto& route : test::conformance_routes()) {
        const auto first = made(all, route);
        const auto second = made(ring, route);
        EXPECT_EQ(*plan_of(first), compiled_offline(all, route));
        EXPECT_EQ(plan_of(made(all, route)), plan_of(first));
        EXPECT_EQ(plan_of(made(ring, route)), plan_of(second));
        EXPECT_EQ(plan_of(neighbor_exchange(context(comm, regions), mine(all),
                                            {.route = route, .executor = "persistent"})),
                  plan_of(first));
    }
}

TEST_F(KeptPlans, APlanIsFoundByAllThatDeterminesIt) {
    if (num_ranks < 2) GTEST_SKIP() << "the patterns are equal";
    const auto first = made(all, "two_step");

    EXPECT_NE(plan_of(made(ring, "two_step")), plan_of(first));
    EXPECT_NE(plan_of(made(all, "direct")), plan_of(first));
    EXPECT_NE(plan_of(made(all, "two_step", false)), plan_of(first));
    regions = each_alone;
    EXPECT_NE(plan_of(made(all, "two_step")), plan_of(first));
    EXPECT_EQ(*plan_of(made(all, "two_step")), compiled_offline(all, "two_step"));
}

TEST_F(KeptPlans, AllRanksCompileWhereOneHasANewPattern) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    for (const auto& route : test::conformance_routes()) {
        auto items_swapped = all;
        std::ranges::reverse(items_swapped[0].sends.indices);
        const auto first = made(all, route);

        const auto second = made(items_swapped, route);

        EXPECT_NE(plan_of(second), plan_of(first));
        EXPECT_EQ(*plan_of(second), compiled_offline(items_swapped, route));
        EXPECT_EQ(plan_of(made(all, route)), plan_of(first));
        EXPECT_EQ(plan_of(made(items_swapped, route)), plan_of(second));
    }
}

TEST_F(KeptPlans, TheLeastRecentlyUsedGoesFirst) {
    if (num_ranks < 2) GTEST_SKIP() << "the ring is the first pattern";
    std::vector<neighbor_exchange> halos;
    const auto pattern_of = [&](std::size_t i) {
        test::pattern_builder builder(num_ranks);
        builder.send(0, static_cast<count_t>(i), num_ranks - 1);
        return builder.take();
    };
    for (std::size_t i = 0; i < plan_cache::capacity; ++i)
        halos.push_back(made(pattern_of(i), "direct"));
    const auto of = [&](std::size_t i) { return plan_of(made(pattern_of(i), "direct")); };
    EXPECT_EQ(of(0), plan_of(halos[0]));

    const auto more = made(ring, "direct");  // in the place of the second

    EXPECT_EQ(of(0), plan_of(halos[0]));
    EXPECT_EQ(of(plan_cache::capacity - 1), plan_of(halos.back()));
    EXPECT_EQ(plan_of(made(ring, "direct")), plan_of(more));
    EXPECT_NE(of(1), plan_of(halos[1]));
}

TEST_F(KeptPlans, NothingIsKeptOfWhatAllRanksRefuse) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    const auto first = made(ring, "direct");
    auto wrong = all;
    if (rank == 0) wrong[0].sends = {};
    for (int round = 0; round < 2; ++round) {
        expect_thrown(errc::invalid_argument,
                      [&] { made(ring, rank == 0 ? "direct" : "two_step"); });
        expect_thrown(errc::count_mismatch, [&] { made(wrong, "two_step"); });
    }
    EXPECT_EQ(plan_of(made(ring, "direct")), plan_of(first));
    EXPECT_EQ(*plan_of(made(all, "two_step")), compiled_offline(all, "two_step"));
}

// Where messages of planning carry no agreement, nobody can say that all ranks know a plan.
TEST_F(KeptPlans, OtherAlgorithmsOfExchangesFindNone) {
    if (rank == 0) setenv("CROSSDOCK_ALGORITHM", "nonblocking", 1);
    const auto first = made(all, "two_step");
    const auto second = made(all, "two_step");
    unsetenv("CROSSDOCK_ALGORITHM");

    EXPECT_NE(plan_of(second), plan_of(first));
    EXPECT_EQ(*plan_of(second), *plan_of(first));
}

}  // namespace
}  // namespace crossdock::planning_test
