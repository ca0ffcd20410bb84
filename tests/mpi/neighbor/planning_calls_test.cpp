// Stands between the library and MPI, hence a program of its own: no collective whose arguments
// grow with the number of ranks may be called while planning.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/route.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/patterns.hpp"
#include "support/watched_calls.hpp"

namespace crossdock::planning_calls_test {
namespace {

struct watched_calls {
    int long_collectives = 0;
    int most_ranks_of_long_collectives = 0;
    int longest_reduction = 0;
    int reductions = 0;
    int windows = 0;
};
watched_calls calls;

void note(const test::mpi_call& call) {
    if (call.name == "Win_allocate_shared") ++calls.windows;
    if (call.is_one_of({"Allreduce", "Iallreduce"})) {
        ++calls.reductions;
        // A set of cores is united; it is as long for any number of ranks.
        if (call.operation != MPI_BOR)
            calls.longest_reduction = std::max(calls.longest_reduction, call.count);
    }
    if (!call.is_one_of({"Allgather", "Iallgather", "Allgatherv", "Gather", "Gatherv", "Scatter",
                         "Alltoall", "Alltoallv", "Reduce_scatter", "Reduce_scatter_block"}))
        return;
    int num_ranks = 0;
    PMPI_Comm_size(call.comm, &num_ranks);
    ++calls.long_collectives;
    calls.most_ranks_of_long_collectives =
        std::max(calls.most_ranks_of_long_collectives, num_ranks);
}

class Planning : public test::AllRanks {
  protected:
    Planning() {
        calls = {};
        test::on_mpi_call = note;
    }

    void plan_every_route(const context& at, neighbor_options options) {
        for (const auto& entry : registered_routes()) {
            options.route = entry.example;
            neighbor_exchange(at, own, options);
        }
    }

    const std::vector<pattern> patterns = test::all_to_all_pattern(num_ranks);
    const pattern own = mine(patterns);
};

TEST_F(Planning, CallsNoCollectiveWhoseArgumentsGrowWithTheRanks) {
    const std::vector<count_t> owned{rank}, needed{next};
    static_cast<void>(pattern_from_needed(comm, owned, needed));
    plan_every_route(where, {.executor = "persistent"});

    EXPECT_EQ(calls.long_collectives, 0);
    EXPECT_EQ(calls.longest_reduction, 4);  // `agree`
}

TEST_F(Planning, CallsCollectivesWhoseArgumentsGrowWithTheNodeOnNodesOnly) {
    std::vector<region_t> pairs;
    for (rank_t r = 0; r < num_ranks; ++r) pairs.push_back(r / 2);
    const auto nodes = topology::from_regions(pairs);
    const rank_t num_ranks_of_node = nodes.region_size(nodes.region_of(rank));

    plan_every_route(where.with_nodes(nodes), {.executor = "shared_memory"});

    const bool shares = num_ranks_of_node > 1;  // one rank shares nothing
    EXPECT_EQ(calls.long_collectives > 0, shares);
    EXPECT_EQ(calls.most_ranks_of_long_collectives, shares ? num_ranks_of_node : 0);
    EXPECT_EQ(calls.longest_reduction, 4);
}

TEST_F(Planning, MakesReverseExchangesReady) {
    neighbor_exchange halo(where, own, {.route = "three_step", .executor = "shared_memory"});
    const std::vector<double> slots(static_cast<std::size_t>(own.num_slots), 1.0);
    std::vector<double> items(static_cast<std::size_t>(own.num_items), 0.0);
    calls.long_collectives = 0;

    halo.reverse(slots, items, sum{});

    EXPECT_EQ(calls.long_collectives, 0);
    EXPECT_EQ(items, std::vector<double>(items.size(), 1.0));
}

TEST_F(Planning, ReducesOnceForEachPlanButTheFirst) {
    compile(where, own, "direct");
    const auto num_reductions_of = [&](auto&& call) {
        calls.reductions = 0;
        call();
        return calls.reductions;
    };

    for (const auto& entry : registered_routes())
        EXPECT_EQ(num_reductions_of([&] { compile(where, own, entry.example); }), 1) << entry.name;
    compile(where, own, "auto");
    // The choice, and the plan.
    EXPECT_EQ(num_reductions_of([&] { compile(where, own, "auto"); }), 2);
    for (const char* route : {"two_step", "auto"}) {  // the choice is found with the plan
        const auto make = [&] {
            neighbor_exchange(where, own, {.route = route, .prepare = preparation::lazy});
        };
        make();
        EXPECT_EQ(num_reductions_of(make), 1) << route;
    }
}

TEST_F(Planning, ReducesNoMoreWhereARouteIsForced) {
    const auto num_reductions_of = [&](const char* route) {
        communicator fresh(MPI_COMM_WORLD);
        calls.reductions = 0;
        neighbor_exchange(context(fresh, one_region), own, {.route = route});
        fresh.close();
        return calls.reductions;
    };
    const int expected = num_reductions_of("direct");
    setenv("CROSSDOCK_FORCE_ROUTE", "direct", 1);
    EXPECT_EQ(num_reductions_of("hypercube"), expected);
    EXPECT_EQ(num_reductions_of("auto"), expected);
    unsetenv("CROSSDOCK_FORCE_ROUTE");
}

TEST_F(Planning, UsesMemoryAgainOnceItIsRead) {
    // So long that each object takes a window for itself.
    constexpr std::size_t item_bytes = 16 << 10;
    struct item {
        std::array<std::byte, item_bytes> bytes;
    };
    const std::vector<item> items(static_cast<std::size_t>(own.num_items));
    std::vector<item> slots(static_cast<std::size_t>(own.num_slots));
    int num_first = 0;
    for (int round = 0; round < 20; ++round) {
        neighbor_exchange halo(where, own,
                               {.route = "direct",
                                .executor = "shared_memory",
                                .item_bytes = item_bytes,
                                .prepare = preparation::forward});
        if (round == 0) num_first = calls.windows;
        halo.forward(items, slots);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    EXPECT_EQ(num_first, num_ranks > 1 ? 2 : 0);  // for sizes that ranks post, and for items
    EXPECT_EQ(calls.windows, num_first);
}

TEST_F(Planning, AsksTheFirstRanksEnvironmentWhereTheOptionsLeaveTheChoice) {
    if (rank == 0) setenv("CROSSDOCK_EXECUTOR", "persistent", 1);

    plan_every_route(where, {});
    EXPECT_EQ(calls.windows, 0);
    plan_every_route(where, {.executor = "shared_memory"});
    EXPECT_EQ(calls.windows > 0, num_ranks > 1);

    unsetenv("CROSSDOCK_EXECUTOR");
}

TEST_F(Planning, MakesNoSendBuffersForItsExchanges) {
    if (rank == 0) setenv("CROSSDOCK_ALGORITHM", "shared_memory", 1);

    plan_every_route(where, {.executor = "persistent"});

    EXPECT_EQ(calls.windows, 0);
    unsetenv("CROSSDOCK_ALGORITHM");
}

TEST_F(Planning, SharesMemoryWhereNobodyChooses) {
    plan_every_route(where, {});

    EXPECT_EQ(calls.windows > 0, num_ranks > 1);
}

}  // namespace
}  // namespace crossdock::planning_calls_test
