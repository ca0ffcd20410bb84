#include "crossdock/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "support/patterns.hpp"
#include "support/project_file.hpp"
#include "tools/inputs/halo.hpp"

namespace crossdock::statistics_test {
namespace {

using nlohmann::json;
using test::compile_route;

/// Compares the figures that `expected` lists.
void expect_figures(const json& expected, const summary& messages, const summary& items) {
    const auto expect_figure = [&](const char* unit, const char* kind, count_t actual) {
        if (!expected.contains(unit) || !expected[unit].contains(kind)) return;
        EXPECT_EQ(actual, expected[unit][kind].get<count_t>()) << unit << " " << kind;
    };
    expect_figure("messages", "total", messages.total);
    expect_figure("messages", "max", messages.max);
    expect_figure("items", "total", items.total);
    expect_figure("items", "max", items.max);
}

TEST(Statistics, GiveEveryFigureOfTheSmallMatrices) {
    const auto golden =
        json::parse(std::ifstream(test::project_file("tests/golden/traffic_small.json")));
    ASSERT_EQ(golden.size(), 21U);
    for (const auto& record : golden) {
        const auto name = record["matrix"].get<std::string>();
        const auto matrix = read_matrix_market(test::project_file("data/" + name + ".mtx.gz"));
        const auto regions = topology::from_string(record["topology"].get<std::string>(),
                                                   record["ranks"].get<rank_t>());
        std::vector<pattern> patterns;
        for (auto& part :
             halos_from_matrix(matrix, make_partition(matrix, "block", regions.num_ranks())))
            patterns.push_back(std::move(part.exchange));

        for (const auto& [key, expected] : record["routes"].items()) {
            SCOPED_TRACE(name + " " + regions.to_string() + " " + key);
            const auto plus = key.find("+dedup");

            const auto total = analyze(regions, compile_route(key.substr(0, plus), regions,
                                                              patterns, plus != key.npos))
                                   .total;

            expect_figures(expected, total.messages, total.items);
            expect_figures(expected["inter_region"], total.inter_region_messages,
                           total.inter_region_items);
        }
    }
}

TEST(Statistics, CountTheVolumeThatGridsAddToAllToAll) {
    const auto regions = topology::one_region(256);
    const auto patterns = test::all_to_all_pattern(256);
    const auto num_items = [&](const std::string& name) {
        return analyze(regions, compile_route(name, regions, patterns, false)).total.items.total;
    };
    const auto ratio_to_direct = [&](const std::string& name) {
        return fmt::format("{:.2f}", static_cast<double>(num_items(name)) / (256.0 * 255.0));
    };

    EXPECT_EQ(num_items("direct"), 256 * 255);
    EXPECT_EQ(ratio_to_direct("grid:2"), "1.88");
    EXPECT_EQ(ratio_to_direct("grid:4"), "3.01");
    EXPECT_EQ(ratio_to_direct("grid:8"), "4.02");
}

/// Rank 0 sends items 0 and 1 to rank 3 and item 0 to rank 2, of "2x2", in two steps.
std::vector<plan> small_plans() {
    test::pattern_builder builder(4);
    builder.send(0, 0, 3);
    builder.send(0, 1, 3);
    builder.send(0, 0, 2);
    return compile_route("two_step", topology::from_string("2x2"), builder.take());
}

TEST(Statistics, SeparateStagesAndLevels) {
    const auto regions = topology::from_string("2x2");
    const auto plans = small_plans();

    EXPECT_EQ(stage_traffic(regions, plans[0], 0), (traffic{1, 2, 1, 2}));
    EXPECT_EQ(stage_traffic(regions, plans[0], 1), (traffic{0, 0, 0, 0}));
    EXPECT_EQ(stage_traffic(regions, plans[2], 1), (traffic{1, 2, 0, 0}));
    EXPECT_EQ(total_traffic(regions, plans[2]), (traffic{1, 2, 0, 0}));
}

TEST(Statistics, SummarizeAllRanks) {
    const auto result = analyze(topology::from_string("2x2"), small_plans());

    ASSERT_EQ(result.stages.size(), 2U);
    EXPECT_EQ(result.stages[0].items, (summary{2, 2, 0.5}));
    EXPECT_EQ(result.stages[0].inter_region_items, (summary{2, 2, 0.5}));
    EXPECT_EQ(result.stages[1].inter_region_messages, (summary{0, 0, 0}));
    EXPECT_EQ(result.total.messages, (summary{2, 1, 0.5}));
    EXPECT_EQ(result.total.items, (summary{4, 2, 1}));
    EXPECT_EQ(result.total.inter_region_messages, (summary{1, 1, 0.25}));
}

TEST(Statistics, CountForwardedItemsInBothBuffers) {
    const auto plans = small_plans();

    EXPECT_EQ(buffer_items(plans[0]), 2);
    EXPECT_EQ(buffer_items(plans[1]), 0);
    EXPECT_EQ(buffer_items(plans[2]), 4);
    EXPECT_EQ(buffer_items(plans[3]), 2);
    EXPECT_EQ(analyze(topology::from_string("2x2"), plans).buffer_items, (summary{8, 4, 2}));
}

TEST(Statistics, OfNothingAreZero) {
    EXPECT_EQ(summarize({}), (summary{0, 0, 0}));
    EXPECT_TRUE(analyze(topology::one_region(1), {}).stages.empty());
}

}  // namespace
}  // namespace crossdock::statistics_test
