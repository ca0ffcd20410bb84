#include "src/plan/plan_compiler.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/patterns.hpp"

namespace crossdock::plan_compiler_test {
namespace {

pattern sends_items(count_t num_items, std::vector<rank_t> destinations) {
    std::vector<count_t> items(static_cast<std::size_t>(num_items));
    std::iota(items.begin(), items.end(), count_t{0});
    pattern p{0, 8, num_items, 0, {}, {}};
    for (const rank_t destination : destinations) p.sends.append(destination, items);
    return p;
}

std::vector<word_message> first_headers(const pattern& p, const char* route_name,
                                        bool deduplicate) {
    const auto regions = topology::from_string("2x4");
    const auto r = make_route(route_name, regions);
    return plan_compiler(regions, p, *r, {.deduplicate = deduplicate}).send();
}

TEST(PlanCompiler, AHeaderSaysOnceWhatHoldsForManyItems) {
    const auto p = sends_items(1000, {1, 4, 5});

    const auto to_each = first_headers(p, "direct", true);
    ASSERT_EQ(to_each.size(), 3U);
    for (const auto& header : to_each)
        EXPECT_EQ(header.words.size(), 4U);  // no receivers, a run, 1 target

    for (const bool deduplicate : {false, true}) {
        const auto to_regions = first_headers(p, "two_step", deduplicate);
        ASSERT_EQ(to_regions.size(), 2U);
        EXPECT_EQ(to_regions[1].peer, 4);
        EXPECT_EQ(to_regions[1].words.size(), 5U);  // for 4 and 5
    }
}

TEST(PlanCompiler, ASingleItemTakesAWordAndOneForEachTarget) {
    const auto headers = first_headers(sends_items(1, {4, 5, 6}), "two_step", true);
    ASSERT_EQ(headers.size(), 1U);
    EXPECT_EQ(headers[0].words.size(), 5U);
}

TEST(PlanCompiler, ItemsThatAlternateBetweenDestinationsAreOneRunForEach) {
    pattern p{0, 8, 200, 0, {}, {}};
    std::vector<count_t> even, odd;
    for (count_t item = 0; item < 200; ++item) (item % 2 == 0 ? even : odd).push_back(item);
    p.sends.append(7, odd);
    p.sends.append(6, even);

    const auto headers = first_headers(p, "direct", true);

    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(headers[0].words.size(), 4U);
    EXPECT_EQ(headers[1].words.size(), 4U);
}

TEST(PlanCompiler, ItemsListedInFallingOrderArriveInTheSlotsMeant) {
    const auto regions = topology::from_string("1x2");
    std::vector<pattern> patterns{{0, 2, 10000000, 0, {}, {}}, {1, 2, 0, 500, {}, {}}};
    std::vector<count_t> items, slots(500);
    for (count_t k = 500; k-- > 0;) items.push_back(k * k * 37 + 1);
    std::iota(slots.begin(), slots.end(), count_t{0});
    patterns[0].sends.append(1, items);
    patterns[1].receives.append(0, slots);

    const auto plans = compile(regions, patterns, *make_route("direct", regions));

    const auto& sent = plans[0].stages()[0].sends.at(0).positions;
    ASSERT_EQ(sent, std::vector<count_t>(items.rbegin(), items.rend()));
    for (std::size_t k = 0; k < 500; ++k)
        ASSERT_EQ(plans[1].deliveries()[k], (delivery{static_cast<count_t>(k), slots[499 - k]}));
}

}  // namespace
}  // namespace crossdock::plan_compiler_test
