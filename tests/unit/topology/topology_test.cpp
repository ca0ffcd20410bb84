#include "crossdock/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "support/thrown_by.hpp"

namespace {

using crossdock::errc;
using crossdock::placement;
using crossdock::rank_t;
using crossdock::region_t;
using crossdock::topology;
using crossdock::test::thrown_by;

constexpr int int_max = std::numeric_limits<int>::max();

std::vector<region_t> regions_of(const topology& topo) {
    std::vector<region_t> regions;
    for (rank_t rank = 0; rank < topo.num_ranks(); ++rank) regions.push_back(topo.region_of(rank));
    return regions;
}

template <class Call>
void expect_error(Call call, errc code) {
    EXPECT_EQ(thrown_by(call).code(), code);
}

// Counts ranks one by one, and checks every query and both codes against that.
void expect_consistent(const topology& topo, const std::vector<region_t>& regions) {
    ASSERT_EQ(regions_of(topo), regions);
    std::vector<rank_t> sizes(static_cast<std::size_t>(topo.num_regions()));
    for (rank_t rank = 0; rank < topo.num_ranks(); ++rank) {
        const region_t region = regions[static_cast<std::size_t>(rank)];
        rank_t& size = sizes[static_cast<std::size_t>(region)];
        ASSERT_EQ(topo.local_rank(rank), size);
        ASSERT_EQ(topo.rank_at(region, size), rank);
        ++size;
    }
    for (region_t region = 0; region < topo.num_regions(); ++region) {
        const rank_t size = sizes[static_cast<std::size_t>(region)];
        ASSERT_EQ(topo.region_size(region), size);
        ASSERT_GE(size, 1);
    }
    EXPECT_EQ(topology::from_placements(topo.placements()), topo);
    EXPECT_EQ(topology::from_string(topo.to_string(), topo.num_ranks()), topo);
    EXPECT_EQ(topology::from_regions(regions), topo);
}

std::vector<region_t> renumbered(std::vector<region_t> regions) {
    std::vector<region_t> numbers = regions;
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (region_t& region : regions)
        region = static_cast<region_t>(std::lower_bound(numbers.begin(), numbers.end(), region) -
                                       numbers.begin());
    return regions;
}

TEST(Topology, ReadsEveryForm) {
    EXPECT_EQ(regions_of(topology::from_string("2x3")), (std::vector{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(regions_of(topology::from_string("2,3")), (std::vector{0, 0, 1, 1, 1}));
    EXPECT_EQ(regions_of(topology::from_string("2x1,3,1x2")), (std::vector{0, 1, 2, 2, 2, 3, 3}));
    EXPECT_EQ(regions_of(topology::from_string("cyclic:2x3")), (std::vector{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(regions_of(topology::from_string("list:7,2,7,9")), (std::vector{1, 0, 1, 2}));
    EXPECT_EQ(regions_of(topology::from_string("4")), (std::vector{0, 0, 0, 0}));
    EXPECT_EQ(regions_of(topology::one_region(3)), (std::vector{0, 0, 0}));
}

TEST(Topology, WritesTheShortestText) {
    const auto rewritten = [](std::string_view text) {
        return topology::from_string(text).to_string();
    };

    EXPECT_EQ(rewritten("4x16"), "4x16");
    EXPECT_EQ(rewritten("1x8"), "8");
    EXPECT_EQ(rewritten("16,16,8"), "2x16,8");
    EXPECT_EQ(rewritten("8,1x16,2x16,3"), "8,3x16,3");
    EXPECT_EQ(rewritten("cyclic:4x16"), "cyclic:4x16");
    EXPECT_EQ(rewritten("cyclic:4x1"), "4x1");
    EXPECT_EQ(rewritten("cyclic:1x4"), "4");
    EXPECT_EQ(rewritten("list:0,1,0,1"), "cyclic:2x2");
    EXPECT_EQ(rewritten("list:3,3,5"), "2,1");
    EXPECT_EQ(rewritten("list:1,0"), "list:1,0");
    EXPECT_EQ(rewritten("list:9,4,4,100,9"), "list:1,0,0,2,1");
    EXPECT_EQ(rewritten("list:0,1,0"), "list:0,1,0");
    EXPECT_EQ(rewritten("list:6"), "1");
}

TEST(Topology, RejectsMalformedText) {
    for (const char* text :
         {"",     "4x0",       "0x4",     "4,0",      "-4",    "-0",       "+4",
          "4,",   ",4",        "x4",      "4x",       "4x4x4", " 4",       "4x16\n",
          "0x10", "block:4x4", "cyclic:", "cyclic:8", "list:", "list:0,-1"})
        expect_error([&] { return topology::from_string(text); }, errc::invalid_topology);
    for (const char* text : {"cyclic:2x4,8", "2147483648", "65536x32768", "2147483647,1",
                             "-99999999999", "list:99999999999"})
        expect_error([&] { return topology::from_string(text); }, errc::invalid_topology);
    expect_error([] { return topology::from_string("cyclic:2147483647x2147483647"); },
                 errc::invalid_topology);
    for (const char* text : {"4x16", "cyclic:2x3", "list:0,1"})
        expect_error([&] { return topology::from_string(text, 8); }, errc::invalid_topology);
    EXPECT_EQ(topology::from_string("2x4", 8).num_regions(), 2);
    EXPECT_EQ(topology::from_string("2147483647").region_size(0), int_max);
    EXPECT_EQ(topology::from_string("2x1000000000,147483647").rank_at(2, 0), 2000000000);
}

TEST(Topology, RejectsRegionsThatAreNone) {
    const std::vector<region_t> negative{0, 2, -1, -5};

    expect_error([] { return topology::one_region(0); }, errc::invalid_topology);
    expect_error([] { return topology::from_regions({}); }, errc::invalid_topology);
    expect_error([&] { return topology::from_regions(negative); }, errc::invalid_topology);
}

TEST(Topology, RejectsPlacementsThatAreNone) {
    using code = std::vector<placement>;
    for (const auto& none : {code{}, code{{0, 4, 0, 1, 4}, {5, 4, 1, 1, 4}}, code{{0, 4, 0, 1, 0}},
                             code{{0, 4, int_max, 1, 1}}, code{{0, 4, 0, 2, 2}, {4, 1, 3, 1, 1}},
                             code{{0, int_max, 0, 1, int_max}, {int_max, 1, 0, 1, 1}}}) {
        expect_error([&] { return topology::from_placements(none); }, errc::invalid_topology);
    }
}

TEST(Topology, RejectsQueriesOutsideItsRanks) {
    const topology topo = topology::from_string("3,2");

    expect_error([&] { topo.region_of(5); }, errc::rank_out_of_range);
    expect_error([&] { topo.local_rank(-1); }, errc::rank_out_of_range);
    expect_error([&] { topo.region_size(2); }, errc::invalid_argument);
    expect_error([&] { topo.rank_at(-1, 0); }, errc::invalid_argument);
    expect_error([&] { topo.rank_at(1, 2); }, errc::rank_out_of_range);
}

TEST(Topology, EncodesOrdinaryPlacementsInAFewWords) {
    const auto code_of = [](std::string_view text) {
        return topology::from_string(text).placements();
    };

    EXPECT_EQ(code_of("1024x16"), (std::vector<placement>{{0, 16384, 0, 1024, 16}}));
    EXPECT_EQ(code_of("cyclic:1024x16"), (std::vector<placement>{{0, 16384, 0, 1024, 1}}));
    EXPECT_EQ(code_of("1023x16,5"), (std::vector<placement>{{0, 16373, 0, 1024, 16}}));
    EXPECT_EQ(code_of("8,1023x16"),
              (std::vector<placement>{{0, 8, 0, 1, 8}, {8, 16368, 1, 1023, 16}}));
    EXPECT_EQ(code_of("2x16,8,3x4"),
              (std::vector<placement>{{0, 40, 0, 3, 16}, {40, 12, 3, 3, 4}}));
    EXPECT_EQ(code_of("list:0,1,2,0,1,2,0,1,0,1"),
              (std::vector<placement>{{0, 8, 0, 3, 1}, {8, 2, 0, 2, 1}}));
    EXPECT_EQ(code_of("list:0,0,1,1,0,0,1"), (std::vector<placement>{{0, 7, 0, 2, 2}}));
}

TEST(Topology, EqualPlacementsHaveEqualCodes) {
    const std::vector<placement> ranks_one_by_one{
        {0, 1, 0, 1, 1}, {1, 1, 0, 1, 5}, {2, 1, 1, 7, 9}, {3, 1, 1, 1, 1}};
    const std::vector<placement> shifted{{0, 3, 0, 2, 2}, {3, 1, 1, 3, 1}};

    EXPECT_EQ(topology::from_placements(ranks_one_by_one), topology::from_string("2x2"));
    EXPECT_EQ(topology::from_placements(shifted), topology::from_string("2x2"));
    EXPECT_EQ(topology::from_string("list:0,0,1,1"), topology::from_string("2,2"));
    EXPECT_NE(topology::from_string("2x4"), topology::from_string("4x2"));
    EXPECT_NE(topology::from_string("2x4"), topology::from_string("cyclic:2x4"));
    EXPECT_NE(topology::from_string("2x4"), topology::from_string("2x4,1"));
}

TEST(Topology, QueriesAreMutuallyInverse) {
    for (const char* text :
         {"1", "7", "4x16", "16x1", "1,1,1,5", "5,1,1,1", "2x16,8", "8,1023x16", "9,8,7,6,5,4,3",
          "cyclic:4x16", "cyclic:16384x1", "cyclic:1024x16", "1024x16", "list:1,0", "list:0,1,0",
          "list:5,9,5,5,0,77,0,9", "list:0,0,1,1,0,0,1", "list:0,1,2,0,1,2,0,1,0,1",
          "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20"}) {
        SCOPED_TRACE(text);
        const topology topo = topology::from_string(text);

        expect_consistent(topo, regions_of(topo));
    }
}

TEST(Topology, SixteenPlacementsAndSeventeenAnswerAlike) {
    for (const rank_t num_placements : {15, 16, 17, 18}) {
        std::vector<region_t> regions;
        for (rank_t size = 1; size <= num_placements; ++size)
            regions.insert(regions.end(), static_cast<std::size_t>(size), size - 1);

        const topology topo = topology::from_regions(regions);

        EXPECT_EQ(topo.placements().size(), static_cast<std::size_t>(num_placements));
        expect_consistent(topo, regions);
    }
}

TEST(Topology, QueriesAreMutuallyInverseOnRandomRegions) {
    std::mt19937 random(20240229);
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        std::vector<region_t> regions(1 + random() % 200);
        const auto num_regions = 1 + random() % 20;
        for (region_t& region : regions)
            region = static_cast<region_t>(3 * (random() % num_regions));

        expect_consistent(topology::from_regions(regions), renumbered(regions));
    }
}

TEST(Topology, QueriesAreMutuallyInverseOnRandomRuns) {
    std::mt19937 random(31415);
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        std::vector<region_t> regions;
        while (regions.size() < 150) {
            const rank_t run_length = 1 + static_cast<rank_t>(random() % 4);
            const region_t num_regions = 1 + static_cast<region_t>(random() % 5);
            const rank_t num_ranks = 1 + static_cast<rank_t>(random() % 60);
            for (rank_t i = 0; i < num_ranks; ++i) regions.push_back(i / run_length % num_regions);
        }

        expect_consistent(topology::from_regions(regions), renumbered(regions));
    }
}

}  // namespace
