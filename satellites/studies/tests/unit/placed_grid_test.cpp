#include "satellites/studies/placed_grid.hpp"

#include <gtest/gtest.h>

#include "support/patterns.hpp"
#include "support/topologies.hpp"
#include "tests/unit/plan/support.hpp"
#include "tests/unit/route/support.hpp"

namespace crossdock::placed_grid_test {
namespace {

using test::compile_route;

count_t items_sent(const std::string& route, const topology& regions,
                   const std::vector<pattern>& patterns, bool deduplicate) {
    return analyze(regions, compile_route(route, regions, patterns, deduplicate)).total.items.total;
}

// On the places that suit them.
count_t items_sent_placed(const std::string& name, const topology& regions,
                          const std::vector<pattern>& patterns, bool deduplicate) {
    const auto r = make_route(name, regions);
    const auto placed = place_ranks(regions, patterns, dynamic_cast<const grid_route&>(*r),
                                    {.deduplicate = deduplicate});
    const auto plans =
        compile(regions, patterns, placed ? *placed : *r, {.deduplicate = deduplicate});
    verify(plans, patterns);
    return analyze(regions, plans).total.items.total;
}

placed_grid placed(const char* name, std::vector<rank_t> places) {
    const auto regions = topology::one_region(static_cast<rank_t>(places.size()));
    const auto r = make_route(name, regions);
    return {regions, dynamic_cast<const grid_route&>(*r), std::move(places)};
}

TEST(PlacedGrid, CountsWhatThePlansSend) {
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

TEST(PlacedGrid, TravelsFromPlaceToPlace) {
    const auto r = placed("grid:2x2", {0, 2, 3, 1});

    EXPECT_EQ(r.name(), "grid:2x2");
    EXPECT_EQ(test::path(r, 0, 3), (std::vector<rank_t>{0, 0, 3}));  // to place 1
    EXPECT_EQ(test::path(r, 0, 2), (std::vector<rank_t>{0, 1, 2}));  // by place 2 to 3
    EXPECT_EQ(r.partners(2, 0), (stage_partners{{3}, {3}}));
    EXPECT_EQ(r.partners(2, 1), (stage_partners{{1}, {1}}));
}

TEST(PlacedGrid, PartnersAscend) {
    EXPECT_EQ(placed("grid:1x4", {3, 1, 2, 0}).partners(1, 1),
              (stage_partners{{0, 2, 3}, {0, 2, 3}}));
}

TEST(PlacedGrid, NeverSendsMoreThanTheGrid) {
    for (const rank_t num_ranks : {2, 5, 8, 13}) {
        for (const auto& regions : test::conformance_topologies(num_ranks)) {
            for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
                for (const std::string route : {"grid:2", "hypercube"}) {
                    for (const bool deduplicate : {true, false}) {
                        ASSERT_LE(items_sent_placed(route, regions, patterns, deduplicate),
                                  items_sent(route, regions, patterns, deduplicate))
                            << route << " " << name << " on " << regions.to_string();
                    }
                }
            }
        }
    }
}

TEST(PlacedGrid, SavesItemsOfARandomPattern) {
    const auto regions = topology::from_string("5x8");
    const auto patterns = test::random_pattern(40);

    EXPECT_LT(items_sent_placed("hypercube", regions, patterns, true),
              items_sent("hypercube", regions, patterns, true));
}

TEST(PlacedGrid, KeepsTheRouteWhereNothingIsSaved) {
    const auto regions = topology::from_string("2x4");
    const auto made = make_route("grid:2", regions);
    const auto& grid = dynamic_cast<const grid_route&>(*made);

    EXPECT_EQ(place_ranks(regions, test::all_to_all_pattern(8), grid, {}), nullptr);
    EXPECT_EQ(place_ranks(regions, test::self_pattern(8), grid, {}), nullptr);
}

// Each item takes one hop to rank 4 and three from there, or one and three times two.
TEST(PlacedGrid, CountsItemsAsTheyAreDeduplicated) {
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
}  // namespace crossdock::placed_grid_test
