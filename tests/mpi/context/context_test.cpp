#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "crossdock/discover_topology.hpp"
#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::context_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

class Context : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    }
    void TearDown() override {
        for (const char* const name : {"CROSSDOCK_TOPOLOGY", "CROSSDOCK_ROUTE",
                                       "CROSSDOCK_FORCE_ROUTE", "CROSSDOCK_MACHINE"})
            unsetenv(name);
    }

    // Other ranks have another value, which nobody reads.
    void set_on_first(const char* name, const std::string& value) const {
        setenv(name, rank == 0 ? value.c_str() : "no such thing", 1);
    }

    std::string each_alone() const { return std::to_string(num_ranks) + "x1"; }
    pattern ring() const { return test::ring_pattern(num_ranks)[static_cast<std::size_t>(rank)]; }

    template <class T>
    void expect_ring(neighbor_exchange& halo) const {
        test::expect_delivered<T>(halo, test::ring_pattern(num_ranks), rank);
    }

    rank_t rank = 0;
    rank_t num_ranks = 1;
};

TEST_F(Context, DiscoversItsNodes) {
    context world(MPI_COMM_WORLD);

    EXPECT_EQ(world.rank(), rank);
    EXPECT_EQ(world.num_ranks(), num_ranks);
    EXPECT_EQ(world.topology(), discover_topology(world));
    EXPECT_FALSE(world.nodes().has_value());
    EXPECT_FALSE(world.has_own_machine());
    world.close();
    EXPECT_FALSE(world.is_open());
}

TEST_F(Context, TakesWhatTheOptionsSay) {
    context world(MPI_COMM_WORLD,
                  {.topology = each_alone(), .nodes = each_alone(), .machine = "quartz"});

    EXPECT_EQ(world.topology(), topology::from_string(each_alone()));
    ASSERT_TRUE(world.nodes().has_value());
    EXPECT_EQ(*world.nodes(), topology::from_string(each_alone()));
    EXPECT_EQ(world.machine(), load_machine("quartz"));
    const auto other = world.with_topology(topology::one_region(num_ranks));
    EXPECT_EQ(other.topology(), topology::one_region(num_ranks));
    EXPECT_EQ(other.machine(), world.machine());
    EXPECT_EQ(other.with_machine(load_machine("lassen")).machine(), load_machine("lassen"));
    world.close();
    EXPECT_FALSE(other.is_open());
}

TEST_F(Context, TakesAMachineThatIsItsJson) {
    machine own = load_machine("lassen");
    own.hand_over_seconds = 3e-7;
    context world(MPI_COMM_WORLD, {.machine = to_json(own)});

    EXPECT_EQ(world.machine(), own);
    world.close();
}

TEST_F(Context, TakesTheFirstRanksEnvironmentWhereTheOptionsSayNothing) {
    set_on_first("CROSSDOCK_TOPOLOGY", each_alone());
    set_on_first("CROSSDOCK_MACHINE", "lassen");
    context of_environment(MPI_COMM_WORLD);
    context given(MPI_COMM_WORLD, {.topology = "node", .machine = "quartz"});

    EXPECT_EQ(of_environment.topology(), topology::from_string(each_alone()));
    EXPECT_EQ(of_environment.machine(), load_machine("lassen"));
    EXPECT_EQ(given.topology(), discover_topology(given));
    EXPECT_EQ(given.machine(), load_machine("quartz"));
    of_environment.close();
    given.close();
}

TEST_F(Context, RefusesOnAllRanksWhatItCannotTake) {
    const auto code_of = [](const context_options& options) {
        return thrown_by([&] { context(MPI_COMM_WORLD, options); }).code();
    };
    EXPECT_EQ(code_of({.topology = "4y16"}), errc::invalid_topology);
    EXPECT_EQ(code_of({.topology = std::to_string(num_ranks + 1) + "x1"}), errc::invalid_topology);
    EXPECT_EQ(code_of({.nodes = "many"}), errc::invalid_topology);
    EXPECT_EQ(code_of({.machine = "/no/such/machine.json"}), errc::file_error);
    expect_thrown(errc::invalid_argument, [] { context(MPI_COMM_NULL); });
    set_on_first("CROSSDOCK_TOPOLOGY", "4y16");
    const error of_environment = thrown_by([] { context(MPI_COMM_WORLD); });
    EXPECT_EQ(of_environment.code(), errc::invalid_topology);
    EXPECT_EQ(std::string(of_environment.what()).find("CROSSDOCK_TOPOLOGY: "), 0U);
    if (num_ranks == 1) return;
    EXPECT_EQ(code_of({.topology = rank == 0 ? each_alone() : ""}), errc::invalid_argument);
}

TEST_F(Context, OneLineMakesAnExchange) {
    context world(MPI_COMM_WORLD);
    neighbor_exchange halo(world, ring());

    expect_ring<double>(halo);
    EXPECT_EQ(halo.statistics(), total_traffic(world.topology(), halo.plan()));
    EXPECT_NE(halo.explain().find(halo.plan().route()), std::string::npos);
    halo.close();
    world.close();
}

TEST_F(Context, AnExchangeTakesItemsOfEverySize) {
    context world(MPI_COMM_WORLD);
    const std::vector<double> back(static_cast<std::size_t>(ring().num_slots), 1.0);
    for (const auto what : {preparation::both, preparation::forward, preparation::lazy}) {
        neighbor_exchange halo(world, ring(), {.route = "direct", .prepare = what});
        std::vector<double> values(static_cast<std::size_t>(ring().num_items));

        expect_ring<std::int64_t>(halo);
        expect_ring<float>(halo);
        halo.prepare(sizeof(std::int16_t));
        expect_ring<std::int16_t>(halo);
        expect_ring<double>(halo);
        halo.reverse(back, values, sum{});
        EXPECT_EQ(values.front(), 1.0);
        expect_ring<float>(halo);
        expect_thrown(errc::invalid_argument, [&] { halo.prepare(0); });
    }
    world.close();
}

TEST_F(Context, StaysOpenWhileAnExchangeIsActive) {
    context world(MPI_COMM_WORLD);
    neighbor_exchange halo(world, ring(), {.name = "halo"});
    const std::vector<count_t> ids{7};
    gather_scatter shared(world, ids, {.name = "mass"});
    const std::vector<double> items(static_cast<std::size_t>(ring().num_items));
    std::vector<double> slots(static_cast<std::size_t>(ring().num_slots)), values{1.0};
    const std::string first_rank = "the context cannot be closed while rank 0 has ";

    halo.start(items, slots);
    const error halo_is_active = thrown_by([&] { world.close(); });
    EXPECT_EQ(halo_is_active.code(), errc::invalid_state);
    EXPECT_EQ(halo_is_active.what(),
              first_rank + "an active neighbor exchange, halo; wait for it first");
    EXPECT_TRUE(world.is_open());
    halo.wait();
    shared.start(values, sum{});
    EXPECT_EQ(thrown_by([&] { world.close(); }).what(),
              first_rank + "an active gather-scatter, mass; wait for it first");
    shared.wait();
    EXPECT_EQ(values[0], num_ranks);
    // Of one rank alone, that ended with its own.
    if (rank > 0) halo.close();
    world.close();
    EXPECT_FALSE(world.is_open());
}

TEST_F(Context, AProgressThreadNeedsThreads) {
    const error fault = thrown_by([] { context(MPI_COMM_WORLD, {.progress_thread = true}); });
    EXPECT_EQ(fault.code(), errc::invalid_state);
    EXPECT_STREQ(fault.what(),
                 "a progress thread needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it");
}

TEST_F(Context, AnAbandonedExchangeDoesNotKeepItOpen) {
    context world(MPI_COMM_WORLD);
    const std::vector<double> items(static_cast<std::size_t>(ring().num_items));
    std::vector<double> slots(static_cast<std::size_t>(ring().num_slots));
    auto halo = std::make_unique<neighbor_exchange>(world, ring());
    halo->start(items, slots);
    MPI_Barrier(MPI_COMM_WORLD);
    halo.reset();
    expect_thrown(errc::invalid_state, [&] { world.close(); });
    world.close();
    EXPECT_FALSE(world.is_open());
}

// Each call that communicates, or needs what is gone.
TEST_F(Context, CallsAfterCloseAreErrors) {
    const auto expect_refused = [](const auto& call) {
        const error fault = thrown_by(call);
        EXPECT_EQ(fault.code(), errc::invalid_state) << fault.what();
        EXPECT_NE(std::string(fault.what()).find("closed"), std::string::npos) << fault.what();
    };
    const auto own = ring();
    std::vector<double> items(static_cast<std::size_t>(own.num_items));
    std::vector<double> slots(static_cast<std::size_t>(own.num_slots));
    const std::vector<count_t> ids{7};
    std::vector<double> values{1.0};

    context world(MPI_COMM_WORLD);
    neighbor_exchange halo(world, own), ended(world, own);
    gather_scatter shared(world, ids), ended_shared(world, ids);
    distributed_array<double> a(world, num_ranks), ended_array(world, num_ranks);
    auto batch = a.prepare(std::vector<count_t>{0});
    const auto refuse_exchange = [&](neighbor_exchange& one) {
        expect_refused([&] { one.start(items, slots); });
        expect_refused([&] { one.forward(items, slots); });
        expect_refused([&] { one.start_reverse(slots, items, sum{}); });
        expect_refused([&] { one.start(items.data(), slots.data(), MPI_DOUBLE); });
        expect_refused([&] { one.start_reverse(slots.data(), items.data(), MPI_DOUBLE, MPI_SUM); });
        expect_refused([&] { one.prepare(8); });
        expect_refused([&] { return one.duplicate(); });
        EXPECT_FALSE(one.is_active());
    };
    const auto refuse_gather = [&](gather_scatter& one) {
        expect_refused([&] { one.combine(values, sum{}); });
        expect_refused([&] { return one.duplicate(); });
        EXPECT_FALSE(one.is_active());
    };
    const auto refuse_array = [&](distributed_array<double>& one) {
        expect_refused([&] { one.read(ids, values); });
        expect_refused([&] { one.write(ids, values); });
        expect_refused([&] { one.update(ids, values, sum{}); });
        expect_refused([&] { one.read(0, values.data()); });
        expect_refused([&] { one.step(); });
        expect_refused([&] { return one.prepare(ids); });
        EXPECT_EQ(one.local().size(), 1U);
        one.close();
    };

    ended.close();
    refuse_exchange(ended);
    expect_refused([&] { ended.plan(); });
    expect_refused([&] { ended.explain(); });
    expect_refused([&] { ended.statistics(); });
    expect_refused([&] { ended.choice(); });
    expect_refused([&] { ended.is_trying(); });
    expect_refused([&] { ended.tried_routes(); });
    ended.close();
    ended_shared.close();
    refuse_gather(ended_shared);
    expect_refused([&] { ended_shared.method(); });
    expect_refused([&] { ended_shared.route(); });
    expect_refused([&] { ended_shared.num_ids(); });
    expect_refused([&] { ended_shared.explain(); });
    ended_shared.close();
    ended_array.close();
    refuse_array(ended_array);

    world.close();
    refuse_exchange(halo);
    EXPECT_EQ(halo.plan().rank(), rank);
    refuse_gather(shared);
    refuse_array(a);
    expect_refused([&] { batch.read(values); });
    expect_refused([&] { batch.update(values, sum{}); });
    expect_refused([&] { batch.gather(values); });
    expect_refused([&] { neighbor_exchange(world, own); });
    expect_refused([&] { gather_scatter(world, ids); });
    expect_refused([&] { distributed_array<double>(world, 1); });
    expect_refused([&] { return discover_topology(world); });
    expect_refused([&] { context(world.comm(), context_options{}); });
    expect_refused(
        [&] { static_cast<void>(sparse_exchange(world, {rank}, {1}, std::vector<double>{1.0})); });
    EXPECT_EQ(world.rank(), rank);
    world.close();
}

TEST_F(Context, AForcedRouteOverrulesTheProgramAndThatOfAutoOnlyAuto) {
    set_on_first("CROSSDOCK_ROUTE", "two_step");
    const auto expect_routes = [&](const char* given, const char* expected) {
        context world(MPI_COMM_WORLD);
        neighbor_exchange halo(world, ring(), {.route = given});
        distributed_array<int> a(world, 2 * num_ranks, {.route = given});
        EXPECT_EQ(halo.plan().route(), expected);
        EXPECT_EQ(a.route(), expected);
        expect_ring<double>(halo);
        a.close();
        world.close();
    };
    expect_routes("auto", "two_step");
    set_on_first("CROSSDOCK_FORCE_ROUTE", "hypercube");
    expect_routes("direct", "hypercube");
}

TEST_F(Context, MessagesThatCameAreGoneThroughByTheirSources) {
    context world(MPI_COMM_WORLD);
    const rank_t next = (rank + 1) % num_ranks;
    const std::vector<double> values{1.0 * rank, 2.0 * rank, 3.0 * rank};

    // One value to the next rank, then two.
    std::vector<rank_t> sources;
    std::vector<double> came;
    for (const auto& [source, items] : sparse_exchange(world, {next, next}, {1, 2}, values)) {
        sources.push_back(source);
        came.insert(came.end(), items.begin(), items.end());
    }

    const rank_t previous = (rank + num_ranks - 1) % num_ranks;
    EXPECT_EQ(sources, (std::vector<rank_t>{previous, previous}));
    EXPECT_EQ(came, (std::vector<double>{1.0 * previous, 2.0 * previous, 3.0 * previous}));
    world.close();
}

}  // namespace
}  // namespace crossdock::context_test
