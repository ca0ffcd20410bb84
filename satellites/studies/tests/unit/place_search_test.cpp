#include "satellites/studies/place_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "satellites/studies/placed_grid.hpp"
#include "support/topologies.hpp"
#include "tests/unit/route/support.hpp"

namespace crossdock::place_search_test {
namespace {

using ranks = std::vector<rank_t>;
using traffic = std::vector<rank_traffic>;

ranks numbers(rank_t num_ranks) {
    ranks result(static_cast<std::size_t>(num_ranks));
    std::iota(result.begin(), result.end(), 0);
    return result;
}

traffic random_traffic(rank_t num_ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](rank_t limit) {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(limit));
    };
    traffic result;
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (int i = 0; i < 4; ++i) result.push_back({source, draw(num_ranks), draw(20)});
    }
    return result;
}

count_t num_hops(const route& r, const traffic& items) {
    count_t result = 0;
    for (const auto& [source, destination, num_items] : items) {
        const auto hops = test::path(r, source, destination);
        for (std::size_t h = 1; h < hops.size(); ++h)
            result += hops[h] != hops[h - 1] ? num_items : 0;
    }
    return result;
}

ranks places_on(const std::string& name, const topology& regions, const traffic& items) {
    const auto r = make_route(name, regions);
    return search_places(regions, dynamic_cast<const grid_route&>(*r).shape(), items);
}

count_t num_hops_placed(const std::string& name, const topology& regions, const traffic& items) {
    const auto r = make_route(name, regions);
    return num_hops(
        placed_grid(regions, dynamic_cast<const grid_route&>(*r), places_on(name, regions, items)),
        items);
}

/// Which ranks are at the places that a region's ranks have by number.
std::set<std::set<region_t>> regions_at_places(const topology& regions, const ranks& places) {
    std::vector<std::set<region_t>> at(static_cast<std::size_t>(regions.num_regions()));
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        const auto region = regions.region_of(places[static_cast<std::size_t>(rank)]);
        at[static_cast<std::size_t>(region)].insert(regions.region_of(rank));
    }
    return {at.begin(), at.end()};
}

TEST(PlaceSearch, PutsRanksThatTalkInOneBlock) {
    const traffic items{{0, 3, 9}};
    const auto regions = topology::one_region(4);

    EXPECT_EQ(num_hops(*make_route("grid:2x2", regions), items), 18);
    EXPECT_EQ(num_hops_placed("grid:2x2", regions, items), 9);
}

TEST(PlaceSearch, GivesEveryPlaceToOneRankAndTheSameAgain) {
    for (const rank_t num_ranks : {1, 2, 3, 5, 8, 13, 24, 40}) {
        const auto items = random_traffic(num_ranks, 3);
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            for (const char* name : {"grid:2", "grid:3", "hypercube"}) {
                const auto places = places_on(name, regions, items);

                EXPECT_EQ(places_on(name, regions, items), places);
                auto sorted = places;
                std::ranges::sort(sorted);
                EXPECT_EQ(sorted, numbers(num_ranks)) << name << " on " << regions.to_string();
            }
        }
    }
}

TEST(PlaceSearch, NeverForwardsMoreWhereBlocksAreEquallyLarge) {
    for (const char* regions_text : {"4x4", "16x1", "1x16", "cyclic:4x4", "3,5,8"}) {
        const auto regions = topology::from_string(regions_text);
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const auto items = random_traffic(16, seed);
            for (const std::string name : {"grid:4x4", "grid:2x8", "grid:2x2x4", "hypercube"}) {
                EXPECT_LE(num_hops_placed(name, regions, items),
                          num_hops(*make_route(name, regions), items))
                    << name << " on " << regions_text;
            }
        }
    }
}

TEST(PlaceSearch, TheRanksOfARegionStayTogether) {
    for (const char* text : {"4x4", "cyclic:4x4", "3,5,8", "2x8"}) {
        const auto regions = topology::from_string(text);
        const auto places = places_on("grid:2x2x4", regions, random_traffic(16, 1));

        EXPECT_NE(places, numbers(16));
        for (const auto& at_places : regions_at_places(regions, places))
            EXPECT_EQ(at_places.size(), 1U) << text;
    }
}

TEST(PlaceSearch, RegionsOfEqualSizeExchangeTheirPlaces) {
    const auto regions = topology::from_string("8x2");
    const traffic items{{0, 14, 5}, {1, 15, 5}};  // regions 0 and 7 differ in three halves

    EXPECT_EQ(num_hops(*make_route("hypercube", regions), items), 30);
    EXPECT_EQ(num_hops_placed("hypercube", regions, items), 10);
}

TEST(PlaceSearch, FindsTheColumnsThatRanksWereDealtFrom) {
    const auto regions = topology::from_string("8x4");
    std::mt19937_64 random(5);
    std::vector<ranks> columns;  // of each region the ranks by column
    for (rank_t region = 0; region < 8; ++region) {
        columns.push_back({4 * region, 4 * region + 1, 4 * region + 2, 4 * region + 3});
        for (std::size_t i = 3; i > 0; --i)
            std::swap(columns.back()[i], columns.back()[random() % (i + 1)]);
    }
    traffic items;
    for (const auto& from : columns) {
        for (const auto& to : columns) {
            for (std::size_t c = 0; c < 4 && &from != &to; ++c)
                items.push_back({from[c], to[c], 2});
        }
    }

    EXPECT_EQ(num_hops_placed("grid:8x4", regions, items), 8 * 7 * 4 * 2);
}

TEST(PlaceSearch, LeavesRanksWhereTheyAreIfNothingIsSaved) {
    const auto regions = topology::from_string("2x4");
    const auto places = [&](const char* name, const traffic& items) {
        return places_on(name, regions, items);
    };

    EXPECT_EQ(places("grid:2", {}), numbers(8));
    EXPECT_EQ(places("grid:2", {{3, 3, 7}, {0, 5, 0}}), numbers(8));
    EXPECT_EQ(places("grid:8", {}), numbers(8));
    EXPECT_EQ(places("grid:1x8x1", {{0, 7, 3}}), numbers(8));  // all are one hop apart
    EXPECT_EQ(places("grid:2x4", {{0, 1, 3}, {0, 4, 2}}), numbers(8));
}

TEST(PlaceSearch, PairsThatComeAgainAddUp) {
    const auto regions = topology::one_region(9);
    const traffic once{{0, 8, 6}, {0, 4, 3}, {5, 6, 2}};
    const traffic often{{5, 6, 2}, {0, 8, 1}, {0, 4, 1}, {8, 0, 5}, {0, 4, 2}};

    EXPECT_EQ(places_on("grid:2", regions, often), places_on("grid:2", regions, once));
}

}  // namespace
}  // namespace crossdock::place_search_test
