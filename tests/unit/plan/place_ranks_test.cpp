#include "src/plan/place_ranks.hpp"

#include <gtest/gtest.h>

#include "support.hpp"
#include "support/patterns.hpp"
#include "support/topologies.hpp"

namespace crossdock::place_ranks_test {
namespace {

using test::compile_route;

count_t items_sent(const std::string& route, const topology& regions,
                   const std::vector<pattern>& patterns, bool deduplicate) {
    return analyze(regions, compile_route(route, regions, patterns, deduplicate)).total.items.total;
}

TEST(PlaceRanks, CountsWhatThePlansSend) {
    for (const rank_t num_ranks : {1, 2, 5, 13}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
                for (const char* route : {"direct", "two_step", "grid:3", "hypercube"}) {
                    for (const bool deduplicate : {true, false}) {
                        const auto r = make_route(route, regions);
                        count_t sum = 0;
                        for (const auto& p : patterns)
                            sum += count_sent(p, *r, {.deduplicate = deduplicate});

                        ASSERT_EQ(sum, items_sent(route, regions, patterns, deduplicate))
                            << route << " " << name << " on " << regions.to_string();
                    }
                }
            }
        }
    }
}

TEST(PlaceRanks, NeverSendsMoreThanWithoutMapping) {
    for (const rank_t num_ranks : {2, 5, 8, 13}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
                for (const std::string route : {"grid:2", "hypercube"}) {
                    for (const bool deduplicate : {true, false}) {
                        ASSERT_LE(items_sent(route + ":mapped", regions, patterns, deduplicate),
                                  items_sent(route, regions, patterns, deduplicate))
                            << route << " " << name << " on " << regions.to_string();
                    }
                }
            }
        }
    }
}

TEST(PlaceRanks, SavesItemsOfARandomPattern) {
    const auto regions = topology::from_string("5x8");
    const auto patterns = test::random_pattern(40);
    const auto r = make_route("hypercube:mapped", regions);

    const auto placed = place_ranks(patterns, *r, {});

    ASSERT_NE(placed, nullptr);
    EXPECT_EQ(placed->name(), "hypercube:mapped");
    EXPECT_LT(items_sent("hypercube:mapped", regions, patterns, true),
              items_sent("hypercube", regions, patterns, true));
}

TEST(PlaceRanks, KeepsTheRouteWhereNothingIsSaved) {
    const auto regions = topology::from_string("2x4");
    const auto r = make_route("grid:2:mapped", regions);

    EXPECT_EQ(place_ranks(test::all_to_all_pattern(8), *r, {}), nullptr);
    EXPECT_EQ(place_ranks(test::self_pattern(8), *r, {}), nullptr);
}

// Each item takes one hop to rank 4 and three from there, or one and three times two.
TEST(PlaceRanks, CountsItemsAsTheyAreDeduplicated) {
    test::pattern_builder builder(8);
    for (count_t item = 0; item < 4; ++item) {
        for (const rank_t destination : {4, 5, 6, 7}) builder.send(0, item, destination);
    }
    const auto patterns = builder.take();
    const auto regions = topology::one_region(8);
    const auto grid = make_route("grid:2x4", regions);

    EXPECT_EQ(count_sent(patterns[0], *grid, {.deduplicate = true}), 16);
    EXPECT_EQ(count_sent(patterns[0], *grid, {.deduplicate = false}), 28);
    EXPECT_EQ(traffic_of(patterns[0]),
              (std::vector<rank_traffic>{{0, 4, 4}, {0, 5, 4}, {0, 6, 4}, {0, 7, 4}}));
}

}  // namespace
}  // namespace crossdock::place_ranks_test
