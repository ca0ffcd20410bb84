// Plans on a communicator that has seen others: arguments are checked in passing.
#include <gtest/gtest.h>

#include "crossdock/neighbor/compile_mpi.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock {
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
        return compile_mpi(comm, regions, mine(patterns), route);
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
    for (const auto* route : {"direct", "two_step", "three_step", "hypercube"}) {
        ASSERT_EQ(compile_here(ring, route), compiled_offline(ring, route));

        const error routes =
            thrown_by([&] { compile_here(ring, rank() == 0 ? "direct" : "grid:2"); });
        EXPECT_EQ(routes.code(), errc::invalid_argument);
        EXPECT_STREQ(routes.what(), "topologies, routes or options differ between ranks");
        const auto own_regions =
            topology::from_regions(std::vector<region_t>(static_cast<std::size_t>(num_ranks()), 0));
        std::vector<region_t> each(static_cast<std::size_t>(num_ranks()));
        for (rank_t p = 0; p < num_ranks(); ++p) each[static_cast<std::size_t>(p)] = p;
        const error topologies = thrown_by([&] {
            compile_mpi(comm, rank() == 1 ? own_regions : topology::from_regions(each), mine(ring),
                        route);
        });
        EXPECT_EQ(topologies.code(), errc::invalid_argument);
        const error more =
            thrown_by([&] { compile_mpi(comm, regions, mine(ring), route, {}, rank() % 2); });
        EXPECT_EQ(more.code(), errc::invalid_argument);
    }
    EXPECT_EQ(compile_here(ring), compiled_offline(ring, "direct"));
}

TEST_F(Planning, AFaultOfOneRankIsToldInPassing) {
    compile_here(ring, "two_step");
    pattern p = mine(ring);
    if (rank() == num_ranks() - 1) p.sends.ranks[0] = -4;
    for (const auto* route : {"direct", "three_step"}) {
        const error fault = thrown_by([&] { compile_mpi(comm, regions, p, route); });
        EXPECT_EQ(fault.code(), errc::rank_out_of_range);
        EXPECT_EQ(fault.rank(), num_ranks() - 1);
    }
    const error size =
        thrown_by([&] { compile_mpi(comm, topology::from_string("3x7"), mine(ring), "direct"); });
    EXPECT_EQ(size.code(), errc::size_mismatch);
    EXPECT_EQ(compile_here(ring), compiled_offline(ring, "direct"));
}

TEST_F(Planning, TopologiesMayChangeFromPlanToPlan) {
    const auto patterns = test::random_pattern(num_ranks());
    for (const auto& each : test::conformance_topologies(num_ranks())) {
        regions = each;
        for (const auto& route : test::conformance_routes()) {
            EXPECT_EQ(compile_mpi(comm, regions, mine(patterns), route),
                      compiled_offline(patterns, route));
        }
    }
}

}  // namespace
}  // namespace crossdock
