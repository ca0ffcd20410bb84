#include "tools/calibration/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/thrown_by.hpp"

namespace crossdock::calibrate_test {
namespace {

class Calibrate : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    // Two nodes, the first of one region and the other of as many as ranks; or what so many ranks allow.
    rank_layout layout() const {
        const rank_t half = comm.num_ranks() / 2;
        std::vector<region_t> regions;
        std::vector<region_t> nodes;
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) {
            regions.push_back(rank < half ? 0 : rank);
            nodes.push_back(rank < half ? 0 : 1);
        }
        return {topology::from_regions(regions), topology::from_regions(nodes)};
    }

    communicator comm{MPI_COMM_WORLD};
    calibration_options tiny{
        .seconds = 0.01, .name = "tiny", .description = "a test", .progress = {}};
};

TEST_F(Calibrate, ResultIsValidAndRoundTrips) {
    const auto result = calibrate(comm, layout(), tiny);

    EXPECT_NO_THROW(validate(result.found));
    EXPECT_EQ(machine_from_json(to_json(result.found)), result.found);
    EXPECT_EQ(result.found.name, "tiny");
    EXPECT_EQ(result.found.description,
              comm.num_ranks() > 1 ? "a test" : "a test; messages not measured");
}

TEST_F(Calibrate, ResultIsTheSameOnAllRanks) {
    const auto result = calibrate(comm, layout(), tiny);

    EXPECT_NO_THROW(agree(comm, std::nullopt, agreement_hash(to_json(result.found))));
    EXPECT_NO_THROW(agree(comm, std::nullopt, static_cast<std::int64_t>(result.errors.size())));
}

TEST_F(Calibrate, LevelsThatExistAreMeasured) {
    const auto places = layout();
    std::array<bool, num_locality_levels> exists{};
    for (rank_t a = 0; a < comm.num_ranks(); ++a) {
        for (rank_t b = 0; b < a; ++b)
            exists[static_cast<std::size_t>(places.level_of(a, b))] = true;
    }

    const auto m = calibrate(comm, places, tiny).found;

    for (const auto level :
         {locality_level::region, locality_level::node, locality_level::network}) {
        const auto k = static_cast<std::size_t>(level);
        const auto& source = m.sources.at(std::string("levels.") + locality_level_names[k]);
        EXPECT_EQ(source.rfind(exists[k] ? "measured: " : "assumed: no pair of ranks", 0), 0u)
            << source;
    }
}

TEST_F(Calibrate, FirstRankHearsOfEveryPartInOrder) {
    std::vector<double> shares;
    tiny.progress = [&](const std::string&, double share) { shares.push_back(share); };

    calibrate(comm, layout(), tiny);

    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(shares.empty(), comm.rank() != 0);
    if (comm.rank() == 0) {
        EXPECT_EQ(shares.front(), 0);
        EXPECT_LT(shares.back(), 1);
    }
}

TEST_F(Calibrate, BudgetThatIsNoTimeFailsOnAllRanks) {
    for (const double seconds : {0.0, -1.0, 3601.0, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()}) {
        tiny.seconds = seconds;

        const auto fault = test::thrown_by([&] { calibrate(comm, layout(), tiny); });

        EXPECT_EQ(fault.code(), errc::invalid_argument);
    }
}

TEST_F(Calibrate, BudgetThatIsWrongOnOneRankFailsOnAll) {
    tiny.seconds = comm.rank() == comm.num_ranks() - 1 ? -2 : 0.01;

    const auto fault = test::thrown_by([&] { calibrate(comm, layout(), tiny); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_STREQ(fault.what(), "measuring cannot take -2 seconds, only up to 3600");
}

TEST_F(Calibrate, BudgetsThatDifferFailOnAllRanks) {
    if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank cannot differ";
    tiny.seconds = comm.rank() == 0 ? 0.02 : 0.01;

    const auto fault = test::thrown_by([&] { calibrate(comm, layout(), tiny); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
}

TEST_F(Calibrate, LayoutOfOtherRanksFailsOnAllRanks) {
    const rank_layout larger(topology::one_region(comm.num_ranks() + 1));

    const auto fault = test::thrown_by([&] { calibrate(comm, larger, tiny); });

    EXPECT_EQ(fault.code(), errc::size_mismatch);
}

}  // namespace
}  // namespace crossdock::calibrate_test
