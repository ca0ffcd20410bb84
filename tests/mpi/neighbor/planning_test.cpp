// Plans on a communicator that has seen others: arguments are checked in passing, plans are made again
// and found again.
#include <gtest/gtest.h>

#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/plan_cache.hpp"
#include "crossdock/plan_maker.hpp"
#include "src/base/named_values_mpi.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::planning_test {
namespace {

using test::thrown_by;

class Planning : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    rank_t rank() const { return comm.rank(); }
    rank_t num_ranks() const { return comm.num_ranks(); }
    const pattern& mine(const std::vector<pattern>& patterns) const {
        return patterns[static_cast<std::size_t>(rank())];
    }
    plan compile_here(const std::vector<pattern>& patterns, const char* route = "direct") {
        return compile(context(comm, regions), mine(patterns), route);
    }
    plan compiled_offline(const std::vector<pattern>& patterns, const std::string& route,
                          const compile_options& options = {}) {
        return compile(regions, patterns, *make_route(route, regions),
                       options)[static_cast<std::size_t>(rank())];
    }

    communicator comm{MPI_COMM_WORLD};
    topology regions = topology::one_region(comm.num_ranks());
    std::vector<pattern> ring = test::ring_pattern(comm.num_ranks());
};

TEST_F(Planning, ArgumentsThatDifferAreRefusedInPassing) {
    if (num_ranks() < 2) GTEST_SKIP() << "needs two ranks";
    for (const auto* route : {"direct", "two_step", "three_step", "hypercube", "grid:2:mapped"}) {
        ASSERT_EQ(compile_here(ring, route), compiled_offline(ring, route));

        const error routes =
            thrown_by([&] { compile_here(ring, rank() == 0 ? "direct" : "grid:2"); });
        EXPECT_EQ(routes.code(), errc::invalid_argument);
        EXPECT_STREQ(routes.what(),
                     "rank 1 has route = grid:2, rank 0 has direct; give all ranks the same");
        const auto own_regions =
            topology::from_regions(std::vector<region_t>(static_cast<std::size_t>(num_ranks()), 0));
        std::vector<region_t> each(static_cast<std::size_t>(num_ranks()));
        for (rank_t p = 0; p < num_ranks(); ++p) each[static_cast<std::size_t>(p)] = p;
        const error topologies = thrown_by([&] {
            return compile(context(comm, rank() == 1 ? own_regions : topology::from_regions(each)),
                           mine(ring), route);
        });
        EXPECT_EQ(topologies.code(), errc::invalid_argument);
        EXPECT_TRUE(std::string_view(topologies.what()).starts_with("rank 1 has topology = "))
            << topologies.what();
        const auto list = [&](named_values& values) { values.add("color", rank() % 2); };
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
    if (rank() == num_ranks() - 1) p.sends.ranks[0] = -4;
    for (const auto* route : {"direct", "three_step", "grid:2:mapped"}) {
        const error fault = thrown_by([&] { return compile(context(comm, regions), p, route); });
        EXPECT_EQ(fault.code(), errc::rank_out_of_range);
        EXPECT_EQ(fault.rank(), num_ranks() - 1);
    }
    const error size = thrown_by(
        [&] { return compile(context(comm, topology::from_string("3x7")), mine(ring), "direct"); });
    EXPECT_EQ(size.code(), errc::size_mismatch);
    EXPECT_EQ(compile_here(ring), compiled_offline(ring, "direct"));
}

// With 9 items from rank 0 to the last one, which differ in both coordinates.
TEST_F(Planning, APlaceIsGivenWhereThatSavesItems) {
    if (num_ranks() != 8) GTEST_SKIP() << "an example of eight ranks";
    test::pattern_builder builder(num_ranks());
    for (count_t item = 0; item < 9; ++item) builder.send(0, item, 7);
    const auto patterns = builder.take();
    const auto sent = [&](const char* route) {
        return total_traffic(regions, compile_here(patterns, route)).items;
    };

    EXPECT_EQ(sent("grid:2x4"), rank() == 0 || rank() == 4 ? 9 : 0);
    EXPECT_EQ(sent("grid:2x4:mapped"), rank() == 0 ? 9 : 0);
}

TEST_F(Planning, TopologiesMayChangeFromPlanToPlan) {
    const auto patterns = test::random_pattern(num_ranks());
    for (const auto& each : test::conformance_topologies(num_ranks())) {
        regions = each;
        for (const auto& route : test::conformance_routes()) {
            EXPECT_EQ(compile(context(comm, regions), mine(patterns), route),
                      compiled_offline(patterns, route));
        }
    }
}

// Item i of rank s is 100 s + i.
void expect_delivered(const communicator& comm, std::shared_ptr<const plan> compiled,
                      const std::vector<pattern>& patterns) {
    const auto& p = patterns[static_cast<std::size_t>(comm.rank())];
    std::vector<count_t> items, slots(static_cast<std::size_t>(p.num_slots), -1), expected = slots;
    for (count_t i = 0; i < p.num_items; ++i) items.push_back(100 * p.rank + i);
    for (std::size_t e = 0; e < p.receives.size(); ++e) {
        const auto& sends = patterns[static_cast<std::size_t>(p.receives.ranks[e])].sends;
        const auto found = std::ranges::find(sends.ranks, p.rank) - sends.ranks.begin();
        for (std::size_t k = 0; k < p.receives[e].size(); ++k)
            expected[static_cast<std::size_t>(p.receives[e][k])] =
                100 * p.receives.ranks[e] + sends[static_cast<std::size_t>(found)][k];
    }
    neighbor_exchange halo(context(comm, topology::one_region(comm.num_ranks())), *compiled);
    halo.forward(items, slots);
    EXPECT_EQ(slots, expected);
}

class PlanMaker : public Planning {
  protected:
    // The same neighbors; numbers of items change with `k`.
    std::vector<pattern> changed(const std::vector<pattern>& patterns, count_t k) const {
        test::pattern_builder builder(num_ranks());
        for (const auto& p : patterns) {
            for (const rank_t destination : p.sends.ranks) {
                const count_t num_items = (p.rank + 2 * destination + k) % 4;
                builder.connect(p.rank, destination);
                for (count_t i = 0; i < num_items; ++i)
                    builder.send(p.rank, (i * k) % 5, destination);
            }
        }
        return builder.take();
    }
};

TEST_F(PlanMaker, MakesWhatIsCompiledWhereNothingChanges) {
    const auto patterns = test::all_to_all_pattern(num_ranks());
    for (const auto& route : test::conformance_routes()) {
        plan_maker maker(context(comm, regions), mine(patterns), route);
        EXPECT_EQ(*maker.latest(), compiled_offline(patterns, route));
        EXPECT_EQ(*maker.make(mine(patterns)), compiled_offline(patterns, route));
    }
}

TEST_F(PlanMaker, DeliversOtherItemsBetweenTheSameNeighbors) {
    const auto first = test::uneven_pattern(num_ranks());
    for (const auto& each : test::conformance_topologies(num_ranks())) {
        for (const auto& entry : registered_routes()) {
            plan_maker maker(context(comm, each), mine(first), entry.example);
            for (count_t k = 1; k < 5; ++k) {
                const auto next = changed(first, k);
                expect_delivered(comm, maker.make(mine(next)), next);
            }
        }
    }
}

TEST_F(PlanMaker, ANewNeighborIsAnErrorOnAllRanksAndChangesNothing) {
    if (num_ranks() < 3) GTEST_SKIP() << "needs three ranks";
    auto patterns = ring;
    for (const auto& route : test::conformance_routes()) {
        plan_maker maker(context(comm, regions), mine(ring), route);
        const auto before = maker.latest();
        pattern p = mine(ring);
        if (rank() == num_ranks() - 1) p.sends.append(1, std::vector<count_t>{0});

        const error fault = thrown_by([&] { return maker.make(p); });

        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_EQ(fault.rank(), num_ranks() - 1);
        EXPECT_EQ(maker.latest(), before);
        EXPECT_EQ(*maker.make(mine(ring)), *before);
    }
}

TEST_F(PlanMaker, FaultsOfOneRankAreErrorsOnAllRanks) {
    const auto patterns = test::all_to_all_pattern(num_ranks());
    for (const auto& route : test::conformance_routes()) {
        plan_maker maker(context(comm, regions), mine(patterns), route);
        pattern p = mine(patterns);
        if (rank() == 0) p.receives.indices[0] = p.num_slots;
        EXPECT_EQ(thrown_by([&] { return maker.make(p); }).code(), errc::index_out_of_range);

        pattern fewer = mine(patterns);
        if (rank() == 0) fewer.sends = {};
        const error fault = thrown_by([&] { return maker.make(fewer); });
        EXPECT_EQ(fault.code(), errc::count_mismatch);
        EXPECT_STREQ(
            fault.what(),
            "rank 0 sends 0 items to rank 0, which expects 1; give both patterns the same number");

        pattern elsewhere = mine(patterns);
        ++elsewhere.num_ranks;
        EXPECT_EQ(thrown_by([&] { return maker.make(elsewhere); }).code(), errc::size_mismatch);
        EXPECT_EQ(*maker.make(mine(patterns)), compiled_offline(patterns, route));
    }
}

TEST_F(Planning, ACacheFindsPlansAgain) {
    if (num_ranks() < 2) GTEST_SKIP() << "the patterns are equal";
    const auto all = test::all_to_all_pattern(num_ranks());
    plan_cache plans(comm, 2);
    const auto first = plans.compile({comm, regions}, mine(ring), "direct");
    const auto second = plans.compile({comm, regions}, mine(all), "two_step");
    EXPECT_EQ(*first, compiled_offline(ring, "direct"));
    EXPECT_EQ(*second, compiled_offline(all, "two_step"));
    EXPECT_EQ(plans.compile({comm, regions}, mine(all), "two_step"), second);
    EXPECT_EQ(plans.compile({comm, regions}, mine(ring), "direct"), first);

    const auto third =
        plans.compile({comm, regions}, mine(all), "direct");  // in the second's place
    EXPECT_EQ(plans.num_kept(), 2);
    EXPECT_EQ(plans.compile({comm, regions}, mine(ring), "direct"), first);
    EXPECT_EQ(plans.compile({comm, regions}, mine(all), "direct"), third);
    const auto again = plans.compile({comm, regions}, mine(all), "two_step");
    EXPECT_NE(again, second);
    EXPECT_EQ(*again, *second);
}

TEST_F(Planning, ACacheCompilesWhereOneRankHasANewPattern) {
    auto items_swapped = test::all_to_all_pattern(num_ranks());
    const auto all = items_swapped;
    std::ranges::reverse(items_swapped[0].sends.indices);
    plan_cache plans(comm);
    const auto first = plans.compile({comm, regions}, mine(all), "two_step");

    const auto second = plans.compile({comm, regions}, mine(items_swapped), "two_step");

    EXPECT_EQ(plans.num_kept(), num_ranks() == 1 ? 1 : 2);
    EXPECT_EQ(*second, compiled_offline(items_swapped, "two_step"));
    EXPECT_EQ(plans.compile({comm, regions}, mine(all), "two_step"), first);
    EXPECT_EQ(plans.compile({comm, regions}, mine(items_swapped), "two_step"), second);
}

TEST_F(Planning, ACacheRefusesWhatCompilingRefusesAndKeepsNothingOfIt) {
    if (num_ranks() < 2) GTEST_SKIP() << "needs two ranks";
    plan_cache plans(comm);
    static_cast<void>(plans.compile({comm, regions}, mine(ring), "direct"));
    EXPECT_THROW(static_cast<void>(plans.compile({comm, regions}, mine(ring),
                                                 rank() == 0 ? "direct" : "two_step")),
                 error);
    EXPECT_EQ(plans.num_kept(), 1);
    EXPECT_EQ(thrown_by([&] { plan_cache(comm, rank() == 0 ? 2 : 3); }).code(),
              errc::invalid_argument);
    EXPECT_EQ(thrown_by([&] { plan_cache(comm, rank() == 1 ? 0 : 3); }).rank(), 1);
}

}  // namespace
}  // namespace crossdock::planning_test
