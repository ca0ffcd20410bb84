#include "tools/calibration/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::calibrate_test {
namespace {

class Calibrate : public test::AllRanks {
  protected:
    // Two nodes, the first of one region and the other of as many as ranks; or what so many ranks allow.
    rank_layout layout() const {
        const rank_t half = num_ranks / 2;
        std::vector<region_t> regions;
        std::vector<region_t> nodes;
        for (rank_t r = 0; r < num_ranks; ++r) {
            regions.push_back(r < half ? 0 : r);
            nodes.push_back(r < half ? 0 : 1);
        }
        return {topology::from_regions(regions), topology::from_regions(nodes)};
    }

    calibration_options tiny{
        .seconds = 0.01, .name = "tiny", .description = "a test", .progress = {}};
};

TEST_F(Calibrate, ResultIsTheSameOnAllRanksAndValidAndRoundTrips) {
    const auto result = calibrate(comm, layout(), tiny);

    EXPECT_NO_THROW(agree(comm, std::nullopt, agreement_hash(to_json(result.found))));
    EXPECT_NO_THROW(agree(comm, std::nullopt, static_cast<std::int64_t>(result.errors.size())));
    EXPECT_NO_THROW(validate(result.found));
    EXPECT_EQ(machine_from_json(to_json(result.found)), result.found);
    EXPECT_EQ(result.found.name, "tiny");
    EXPECT_EQ(result.found.description, num_ranks > 1 ? "a test" : "a test; messages not measured");
}

TEST_F(Calibrate, LevelsThatExistAreMeasured) {
    const auto places = layout();
    std::array<bool, num_locality_levels> exists{};
    for (rank_t a = 0; a < num_ranks; ++a) {
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
    EXPECT_EQ(shares.empty(), rank != 0);
    if (rank == 0) {
        EXPECT_EQ(shares.front(), 0);
        EXPECT_LT(shares.back(), 1);
    }
}

TEST_F(Calibrate, BudgetsThatAreNoTimeOrDifferFailOnAllRanks) {
    const auto expect_refused = [&](double seconds) {
        tiny.seconds = seconds;
        test::expect_thrown(errc::invalid_argument, [&] { calibrate(comm, layout(), tiny); });
    };
    for (const double seconds : {0.0, -1.0, 3601.0, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()})
        expect_refused(seconds);
    expect_refused(is_last ? -2 : 0.01);
    if (num_ranks > 1) expect_refused(rank == 0 ? 0.02 : 0.01);
}

TEST_F(Calibrate, LayoutOfOtherRanksFailsOnAllRanks) {
    const rank_layout larger(topology::one_region(num_ranks + 1));

    test::expect_thrown(errc::size_mismatch, [&] { calibrate(comm, larger, tiny); });
}

}  // namespace
}  // namespace crossdock::calibrate_test
