#include "crossdock/route.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::locality_test {
namespace {

using ranks = std::vector<rank_t>;
using test::thrown_by;

ranks path(const std::string& name, const std::string& regions, rank_t source, rank_t destination) {
    return test::path(*make_route(name, topology::from_string(regions)), source, destination);
}

/// Calls `check(route, regions)` for all shapes of the grid and all kinds of 24 ranks.
template <class Check>
void for_all_kinds(Check check) {
    for (const auto* name : {"locality", "locality:1", "locality:2", "locality:4"}) {
        for (const auto& regions : test::conformance_topologies(24)) {
            SCOPED_TRACE(name + (" on " + regions.to_string()));
            check(*make_route(name, regions), regions);
        }
    }
}

TEST(Locality, TravelsAsTheSmallExamplesDraw) {
    EXPECT_EQ(path("locality", "4x2", 0, 7), (ranks{0, 4, 6, 7}));
    EXPECT_EQ(path("locality:1", "4x2", 0, 7), (ranks{0, 6, 7}));
}

TEST(Locality, WaitsInsideTheDestinationRegionForTheLastStage) {
    EXPECT_EQ(path("locality", "4x2", 0, 1), (ranks{0, 0, 0, 1}));
    EXPECT_EQ(path("locality", "4x2", 0, 5), (ranks{0, 4, 4, 5}));
    EXPECT_EQ(path("locality", "4x2", 0, 3), (ranks{0, 0, 2, 3}));
}

TEST(Locality, TakesTheCounterpartModuloTheNextRegionsSize) {
    EXPECT_EQ(path("locality", "1,3,2", 3, 5), (ranks{3, 4, 4, 5}));
    EXPECT_EQ(path("locality", "1,3,2", 5, 2), (ranks{5, 0, 1, 2}));
    EXPECT_EQ(path("locality", "1,3,2", 2, 0), (ranks{2, 2, 0, 0}));
}

TEST(Locality, GoesByRegionWhateverTheOrderOfRanks) {
    EXPECT_EQ(path("locality", "cyclic:2x3", 2, 5), (ranks{2, 3, 5}));
    EXPECT_EQ(path("locality", "list:1,0,2,0,1", 1, 4), (ranks{1, 1, 0, 4}));
}

TEST(Locality, IsAHypercubeOfRegionsOfOneRank) {
    const auto alone = topology::from_string("23x1");
    const auto hypercube = make_route("hypercube", alone);
    const auto locality = make_route("locality", alone);
    for (rank_t source = 0; source < 23; ++source) {
        for (rank_t destination = 0; destination < 23; ++destination) {
            auto expected = test::path(*hypercube, source, destination);
            expected.push_back(destination);

            EXPECT_EQ(test::path(*locality, source, destination), expected);
        }
    }
}

TEST(Locality, HasOneStageForEachDimensionAndTheLast) {
    const auto num_stages = [](const std::string& name, const std::string& regions) {
        return make_route(name, topology::from_string(regions))->num_stages();
    };

    EXPECT_EQ(num_stages("locality", "8x16"), 4);
    EXPECT_EQ(num_stages("locality", "5,1,1,1,1"), 4);
    EXPECT_EQ(num_stages("locality", "9"), 1);
    EXPECT_EQ(num_stages("locality:1", "8x16"), 2);
    EXPECT_EQ(num_stages("locality:3", "2x2"), 4);
}

TEST(Locality, BoundsMessagesByItsDimensionsAndTheLargestRegion) {
    const auto bound = [](const std::string& name, const std::string& regions) {
        return make_route(name, topology::from_string(regions))->max_messages_per_rank();
    };

    EXPECT_EQ(bound("locality", "8x16"), 3 + 15);
    EXPECT_EQ(bound("locality:1", "8x16"), 7 + 15);
    EXPECT_EQ(bound("locality:2", "8x16"), (3 + 1) + 15);
    EXPECT_EQ(bound("locality:3", "100x4"), (4 + 4 + 3) + 3);
    EXPECT_EQ(bound("locality", "2,5,3"), 2 + 4);
    EXPECT_EQ(bound("locality:2", "9"), 8);
}

TEST(Locality, LeavesTheRegionInAllStagesButTheLastAndSendsToEachOtherOnce) {
    for_all_kinds([](const route& r, const topology& regions) {
        for (rank_t here = 0; here < regions.num_ranks(); ++here) {
            std::set<region_t> reached;
            for (int stage = 0; stage < r.num_stages(); ++stage) {
                const bool is_last = stage + 1 == r.num_stages();
                for (const rank_t to : r.partners(here, stage).destinations) {
                    const region_t region = regions.region_of(to);
                    ASSERT_EQ(region == regions.region_of(here), is_last)
                        << here << " to " << to << " in stage " << stage;
                    ASSERT_TRUE(is_last || reached.insert(region).second)
                        << here << " to " << to << " in stage " << stage;
                }
            }
        }
    });
}

TEST(Locality, SendsToOneRegionOfEachOtherBlockOfADimension) {
    const auto r = make_route("locality:2", topology::from_string("12x2"));  // regions 4x3

    EXPECT_EQ(r->partners(5, 0).destinations, (ranks{11, 17, 23}));
    EXPECT_EQ(r->partners(5, 1).destinations, (ranks{1, 3}));
    EXPECT_EQ(r->partners(5, 2).destinations, (ranks{4}));
}

TEST(Locality, RefusesShapesThatAreNone) {
    for (const std::string name : {"", "0", "-1", "2x2", "two", "32"}) {
        const error fault =
            thrown_by([&] { return make_route("locality:" + name, topology::from_string("4x2")); });
        EXPECT_EQ(fault.code(), errc::invalid_route) << name;
    }
}

}  // namespace
}  // namespace crossdock::locality_test
