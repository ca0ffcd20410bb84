// Neighbor collectives, and plans, whose route nobody gave.
#include "src/neighbor/automatic_route.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "crossdock/discover_topology.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "src/model/machine_mpi.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/neighbor_options.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace {

int ranks_of_machine = 0;  // that are pretended; 0: as they are

}  // namespace

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                   MPI_Comm* part) {
    if (ranks_of_machine == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, rank / ranks_of_machine, key, part);
}

namespace crossdock::automatic_route_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

class AutomaticRoute : public test::AllRanks {
  protected:
    void TearDown() override {
        unsetenv("CROSSDOCK_ROUTE");
        unsetenv("CROSSDOCK_MACHINE");
        unsetenv("CROSSDOCK_ALGORITHM");
        ranks_of_machine = 0;
        AllRanks::TearDown();
    }

    void set_on_first(const char* name, const char* value) {
        if (rank == 0) setenv(name, value, 1);
    }

    void expect_delivered(neighbor_exchange& halo, const std::vector<pattern>& patterns) {
        test::expect_delivered(halo, patterns, rank);
    }

    std::vector<pattern> ring = test::ring_pattern(num_ranks);
    std::vector<pattern> all = test::all_to_all_pattern(num_ranks);
};

TEST_F(AutomaticRoute, IsTheOneThatIsChosenOffline) {
    const auto shared = discover_topology(comm);
    const std::vector<std::shared_ptr<const machine>> machines{
        nullptr, std::make_shared<const machine>(load_machine("bluegene_q"))};
    std::size_t turn = 0;
    for (const auto& each : test::conformance_topologies(num_ranks)) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            SCOPED_TRACE(name + "/" + each.to_string());
            const auto& m = machines[turn++ % machines.size()];
            neighbor_options options;
            context at(comm, each);
            if (m) at = at.with_machine(*m);
            if (turn % 3 == 0) at = at.with_nodes(each);
            if (turn % 4 == 0) options.executor = "persistent";
            const auto& nodes = at.nodes() ? *at.nodes() : shared;
            estimate_options how;
            how.travel.shares_memory = turn % 4 != 0 && nodes.num_regions() < num_ranks;
            const auto expected =
                choose_route(rank_layout(each, nodes), patterns, m ? *m : machine_of(comm), how);

            neighbor_exchange halo(at, mine(patterns), with_route("auto", options));

            ASSERT_NE(halo.choice(), nullptr);
            EXPECT_EQ(to_string(*halo.choice()), to_string(expected));
            EXPECT_EQ(halo.plan().route(), expected.route());
            EXPECT_EQ(halo.plan(), compile(context(comm, each), mine(patterns), expected.route()));
            expect_delivered(halo, patterns);
        }
    }
}

TEST_F(AutomaticRoute, TakesRanksForANodeOnlyAsFarAsTheyAreOnOneMachine) {
    for (const int on_one : {1, 2}) {
        ranks_of_machine = on_one;
        communicator fresh(MPI_COMM_WORLD);
        const auto machines = discover_topology(fresh);
        ranks_of_machine = 0;
        const context whole(fresh, one_region);
        const auto expect_nodes = [&](const context& at, const topology& nodes) {
            estimate_options how;
            how.travel.shares_memory = nodes.num_regions() < num_ranks;
            const auto expected =
                choose_route(rank_layout(one_region, nodes), all, machine_of(fresh), how);
            neighbor_exchange halo(at, mine(all));
            EXPECT_EQ(to_string(*halo.choice()), to_string(expected));
            expect_delivered(halo, all);
        };
        EXPECT_EQ(machines.num_regions(), (num_ranks + on_one - 1) / on_one);
        ranks_of_machine = on_one;
        expect_nodes(whole.with_nodes(one_region), machines);
        expect_nodes(whole.with_nodes(each_alone), each_alone);
        expect_nodes(whole, machines);
        ranks_of_machine = 0;
        fresh.close();
    }
}

TEST_F(AutomaticRoute, IsTheDefault) {
    neighbor_exchange halo(where, mine(all));

    ASSERT_NE(halo.choice(), nullptr);
    EXPECT_EQ(halo.plan().route(), halo.choice()->route());
    EXPECT_EQ(halo.duplicate().choice(), halo.choice());
    expect_delivered(halo, all);
}

TEST_F(AutomaticRoute, LeavesARouteThatIsGiven) {
    set_on_first("CROSSDOCK_ROUTE", "hypercube");
    neighbor_exchange halo(where, mine(all), {.route = "two_step"});

    EXPECT_EQ(halo.choice(), nullptr);
    EXPECT_EQ(halo.plan().route(), "two_step");
}

TEST_F(AutomaticRoute, IsOverruledByTheFirstRanksEnvironment) {
    set_on_first("CROSSDOCK_ROUTE", "hypercube");
    if (rank != 0) setenv("CROSSDOCK_ROUTE", "no such route", 1);
    neighbor_exchange halo(where, mine(all), {.route = "auto"});

    EXPECT_EQ(halo.choice(), nullptr);
    EXPECT_EQ(halo.plan().route(), "hypercube");
    EXPECT_EQ(compile(where, mine(ring), "auto").route(), "hypercube");
    expect_delivered(halo, all);
}

TEST_F(AutomaticRoute, FailsOnAllRanksWhereTheEnvironmentNamesNoRoute) {
    set_on_first("CROSSDOCK_ROUTE", "warp");
    for (int round = 0; round < 2; ++round) {
        const error fault = thrown_by([&] { neighbor_exchange(where, mine(ring)); });
        EXPECT_EQ(fault.code(), errc::unknown_route);
        EXPECT_TRUE(std::string_view(fault.what()).starts_with("CROSSDOCK_ROUTE: "));
    }
    neighbor_exchange halo(where, mine(ring), {.route = "direct"});
    expect_delivered(halo, ring);
}

TEST_F(AutomaticRoute, FailsOnAllRanksWhereTheEnvironmentNamesNoMachine) {
    set_on_first("CROSSDOCK_MACHINE", "/no/such/machine.json");
    const auto at = where.with_machine(load_machine("quartz"));
    // Exchanges that plan choose for it, whatever the route.
    for (const char* route : {"auto", "auto", "direct"}) {
        const error fault = thrown_by([&] { neighbor_exchange(at, mine(ring), {.route = route}); });
        EXPECT_EQ(fault.code(), errc::file_error);
        EXPECT_NE(std::string(fault.what()).find("/no/such/machine.json"), std::string::npos);
    }
}

TEST_F(AutomaticRoute, AsksTheFirstRankOfAllForTheNodesToo) {
    for (const char* const name : {"CROSSDOCK_MACHINE", "CROSSDOCK_ALGORITHM"}) {
        if (rank != 0) setenv(name, "no such thing", 1);
    }
    std::vector<region_t> pairs;
    for (rank_t r = 0; r < num_ranks; ++r) pairs.push_back((r + 1) / 2);
    const auto plans = compile(one_region, ring, *make_route("direct", one_region));
    for (const bool has_plan : {false, true}) {
        communicator fresh(MPI_COMM_WORLD);
        const auto at = context(fresh, one_region).with_nodes(topology::from_regions(pairs));
        auto halo = has_plan ? neighbor_exchange(at, mine(plans))
                             : neighbor_exchange(at, mine(ring), {.route = "direct"});
        expect_delivered(halo, ring);
        halo.close();
        fresh.close();
    }
}

TEST_F(AutomaticRoute, FailsOnAllRanksWhereArgumentsDiffer) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    const bool is_first = rank == 0;
    const auto expect_refused = [&](const context& at, const char* route,
                                    const neighbor_options& options, const char* what) {
        const error fault =
            thrown_by([&] { neighbor_exchange(at, mine(ring), with_route(route, options)); });
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_EQ(fault.rank(), 1);
        const std::string_view text = fault.what();
        EXPECT_TRUE(text.starts_with(fmt::format("rank 1 has {} = ", what))) << text;
        EXPECT_TRUE(text.ends_with("; give all ranks the same")) << text;
    };
    const auto machines = where.with_machine(load_machine(is_first ? "quartz" : "lassen"));
    const auto one_machine = is_first ? machines : where;
    neighbor_options executors;
    if (is_first) executors.executor = "persistent";
    for (int round = 0; round < 2; ++round) {  // then all is known that is asked for once
        expect_refused(machines, "auto", {}, "machine");
        expect_refused(one_machine, "auto", {}, "machine");
        expect_refused(where, "auto", executors, "executor");
        expect_refused(is_first ? where.with_topology(each_alone) : where, "auto", {}, "topology");
        expect_refused(where, is_first ? "auto" : "hypercube", {}, "route");
        expect_refused(where, is_first ? "direct" : "auto", {}, "route");
        neighbor_exchange halo(where, mine(ring), {.route = "auto"});
        expect_delivered(halo, ring);
    }
}

TEST_F(AutomaticRoute, ThePlanIsFoundAgainWithTheChoice) {
    const neighbor_exchange given(where, mine(all),
                                  {.route = resolve_route(where, mine(all)).name});
    const neighbor_exchange first(where, mine(all), {.route = "auto"});
    const neighbor_exchange again(where, mine(all), {.route = "auto"});

    EXPECT_EQ(&first.plan(), &given.plan());
    EXPECT_EQ(&again.plan(), &given.plan());
    EXPECT_EQ(again.choice(), first.choice());
    EXPECT_EQ(again.explain(), first.explain());
    const neighbor_exchange larger(where, mine(all), {.route = "auto", .item_bytes = 1 << 16});
    EXPECT_NE(larger.choice(), first.choice());
}

}  // namespace
}  // namespace crossdock::automatic_route_test
