// Stands between the library and MPI, hence a program of its own: no collective whose arguments
// grow with the number of ranks may be called while planning.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/route.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "support/patterns.hpp"

namespace {

int num_long_collectives = 0;
int most_ranks_of_long_collectives = 0;
int longest_reduction = 0;
int num_reductions = 0;
int num_windows = 0;

void note_long_collective(MPI_Comm comm) {
    int num_ranks = 0;
    PMPI_Comm_size(comm, &num_ranks);
    ++num_long_collectives;
    most_ranks_of_long_collectives = std::max(most_ranks_of_long_collectives, num_ranks);
}

}  // namespace

#define CROSSDOCK_COUNT_LONG_COLLECTIVE(name, parameters, arguments, comm) \
    int MPI_##name parameters {                                            \
        note_long_collective(comm);                                        \
        return PMPI_##name arguments;                                      \
    }

extern "C" {
CROSSDOCK_COUNT_LONG_COLLECTIVE(Allgather,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, MPI_Comm g),
                                (a, b, c, d, e, f, g), g)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Gather,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, int r, MPI_Comm g),
                                (a, b, c, d, e, f, r, g), g)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Scatter,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, int r, MPI_Comm g),
                                (a, b, c, d, e, f, r, g), g)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Alltoall,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, MPI_Comm g),
                                (a, b, c, d, e, f, g), g)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Alltoallv,
                                (const void* a, const int* b, const int* c, MPI_Datatype d, void* e,
                                 const int* f, const int* g, MPI_Datatype h, MPI_Comm i),
                                (a, b, c, d, e, f, g, h, i), i)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Reduce_scatter_block,
                                (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e,
                                 MPI_Comm f),
                                (a, b, c, d, e, f), f)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Reduce_scatter,
                                (const void* a, void* b, const int* c, MPI_Datatype d, MPI_Op e,
                                 MPI_Comm f),
                                (a, b, c, d, e, f), f)

CROSSDOCK_COUNT_LONG_COLLECTIVE(Allgatherv,
                                (const void* a, int b, MPI_Datatype c, void* d, const int* e,
                                 const int* f, MPI_Datatype g, MPI_Comm h),
                                (a, b, c, d, e, f, g, h), h)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Gatherv,
                                (const void* a, int b, MPI_Datatype c, void* d, const int* e,
                                 const int* f, MPI_Datatype g, int r, MPI_Comm h),
                                (a, b, c, d, e, f, g, r, h), h)
CROSSDOCK_COUNT_LONG_COLLECTIVE(Iallgather,
                                (const void* a, int b, MPI_Datatype c, void* d, int e,
                                 MPI_Datatype f, MPI_Comm g, MPI_Request* h),
                                (a, b, c, d, e, f, g, h), g)

int MPI_Win_allocate_shared(MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f) {
    ++num_windows;
    return PMPI_Win_allocate_shared(a, b, c, d, e, f);
}

int MPI_Allreduce(const void* a, void* b, int count, MPI_Datatype d, MPI_Op e, MPI_Comm f) {
    longest_reduction = std::max(longest_reduction, count);
    ++num_reductions;
    return PMPI_Allreduce(a, b, count, d, e, f);
}

int MPI_Iallreduce(const void* a, void* b, int count, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g) {
    // A set of cores is united; it is as long for any number of ranks.
    if (e != MPI_BOR) longest_reduction = std::max(longest_reduction, count);
    ++num_reductions;
    return PMPI_Iallreduce(a, b, count, d, e, f, g);
}
}

namespace crossdock::planning_calls_test {
namespace {

class Planning : public testing::Test {
  protected:
    void SetUp() override {
        num_long_collectives = most_ranks_of_long_collectives = longest_reduction = num_windows = 0;
    }
    void TearDown() override { comm.close(); }

    void plan_every_route(const context& where, neighbor_options options) {
        for (const auto& entry : registered_routes()) {
            options.route = entry.example;
            neighbor_exchange(where, mine, options);
        }
    }

    communicator comm{MPI_COMM_WORLD};
    const topology regions = topology::one_region(comm.num_ranks());
    const pattern mine =
        test::all_to_all_pattern(comm.num_ranks())[static_cast<std::size_t>(comm.rank())];
};

TEST_F(Planning, CallsNoCollectiveWhoseArgumentsGrowWithTheRanks) {
    const std::vector<count_t> owned{comm.rank()}, needed{(comm.rank() + 1) % comm.num_ranks()};
    static_cast<void>(pattern_from_needed(comm, owned, needed));
    plan_every_route({comm, regions}, {.executor = "persistent"});

    EXPECT_EQ(num_long_collectives, 0);
    EXPECT_EQ(longest_reduction, 4);  // `agree`
}

TEST_F(Planning, CallsCollectivesWhoseArgumentsGrowWithTheNodeOnNodesOnly) {
    std::vector<region_t> pairs;
    for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) pairs.push_back(rank / 2);
    const auto nodes = topology::from_regions(pairs);
    const rank_t num_ranks_of_node = nodes.region_size(nodes.region_of(comm.rank()));

    plan_every_route(context(comm, regions).with_nodes(nodes), {.executor = "shared_memory"});

    const bool shares = num_ranks_of_node > 1;  // one rank shares nothing
    EXPECT_EQ(num_long_collectives > 0, shares);
    EXPECT_EQ(most_ranks_of_long_collectives, shares ? num_ranks_of_node : 0);
    EXPECT_EQ(longest_reduction, 4);
}

TEST_F(Planning, MakesReverseExchangesReady) {
    neighbor_exchange halo(context(comm, regions), mine,
                           {.route = "three_step", .executor = "shared_memory"});
    const std::vector<double> slots(static_cast<std::size_t>(mine.num_slots), 1.0);
    std::vector<double> items(static_cast<std::size_t>(mine.num_items), 0.0);
    num_long_collectives = 0;

    halo.reverse(slots, items, sum{});

    EXPECT_EQ(num_long_collectives, 0);
    EXPECT_EQ(items, std::vector<double>(items.size(), 1.0));
}

TEST(PlanReductions, ThereIsOneForEachPlanButTheFirst) {
    communicator comm(MPI_COMM_WORLD);
    const auto regions = topology::one_region(comm.num_ranks());
    const auto patterns = test::all_to_all_pattern(comm.num_ranks());
    const auto& mine = patterns[static_cast<std::size_t>(comm.rank())];
    compile(context(comm, regions), mine, "direct");

    for (const auto& entry : registered_routes()) {
        num_reductions = 0;
        compile(context(comm, regions), mine, entry.example);
        EXPECT_EQ(num_reductions, 1) << entry.name;
    }

    compile(context(comm, regions), mine, "auto");
    num_reductions = 0;
    compile(context(comm, regions), mine, "auto");
    EXPECT_EQ(num_reductions, 2);  // the choice, and the plan

    const auto num_reductions_again = [&](const char* route) {
        const neighbor_options options{.route = route, .prepare = preparation::lazy};
        neighbor_exchange(context(comm, regions), mine, options);
        num_reductions = 0;
        neighbor_exchange(context(comm, regions), mine, options);
        return num_reductions;
    };
    EXPECT_EQ(num_reductions_again("two_step"), 1);
    EXPECT_EQ(num_reductions_again("auto"), 1);  // the choice is found with the plan
    comm.close();
}

TEST(PlanReductions, ThereAreNoMoreWhereARouteIsForced) {
    const auto num_reductions_of = [](const char* route) {
        communicator comm(MPI_COMM_WORLD);
        const auto patterns = test::all_to_all_pattern(comm.num_ranks());
        num_reductions = 0;
        neighbor_exchange(context(comm, topology::one_region(comm.num_ranks())),
                          patterns[static_cast<std::size_t>(comm.rank())], {.route = route});
        comm.close();
        return num_reductions;
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
    const std::vector<item> items(static_cast<std::size_t>(mine.num_items));
    std::vector<item> slots(static_cast<std::size_t>(mine.num_slots));
    int num_first = 0;
    for (int round = 0; round < 20; ++round) {
        neighbor_exchange halo(context(comm, regions), mine,
                               {.route = "direct",
                                .executor = "shared_memory",
                                .item_bytes = item_bytes,
                                .prepare = preparation::forward});
        if (round == 0) num_first = num_windows;
        halo.forward(items, slots);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    EXPECT_EQ(num_first, comm.num_ranks() > 1 ? 1 : 0);
    EXPECT_EQ(num_windows, num_first);
}

TEST_F(Planning, AsksTheFirstRanksEnvironmentWhereTheOptionsLeaveTheChoice) {
    if (comm.rank() == 0) setenv("CROSSDOCK_EXECUTOR", "persistent", 1);

    plan_every_route({comm, regions}, {});
    EXPECT_EQ(num_windows, 0);
    plan_every_route({comm, regions}, {.executor = "shared_memory"});
    EXPECT_EQ(num_windows > 0, comm.num_ranks() > 1);

    unsetenv("CROSSDOCK_EXECUTOR");
}

TEST_F(Planning, MakesNoSendBuffersForItsExchanges) {
    if (comm.rank() == 0) setenv("CROSSDOCK_ALGORITHM", "shared_memory", 1);

    plan_every_route({comm, regions}, {.executor = "persistent"});

    EXPECT_EQ(num_windows, 0);
    unsetenv("CROSSDOCK_ALGORITHM");
}

TEST_F(Planning, SharesMemoryWhereNobodyChooses) {
    plan_every_route({comm, regions}, {});

    EXPECT_EQ(num_windows > 0, comm.num_ranks() > 1);
}

}  // namespace
}  // namespace crossdock::planning_calls_test
