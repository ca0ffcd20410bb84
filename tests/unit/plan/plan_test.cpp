#include "crossdock/plan.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::plan_test {
namespace {

using nlohmann::json;
using test::thrown_by;

constexpr count_t greatest = std::numeric_limits<count_t>::max();

/// Rank 1 of 3: takes two items from 0 to positions 1 and 2, sends its own and the first on to 2.
plan::contents small_contents() {
    return {.rank = 1,
            .num_ranks = 3,
            .route_name = "grid:2",
            .is_deduplicated = true,
            .num_items = 1,
            .num_slots = 2,
            .stages = {{.sends = {}, .receives = {{0, 1, 2}}},
                       {.sends = {{2, {0, 1}}}, .receives = {}}},
            .deliveries = {{1, 1}, {2, 0}}};
}

TEST(Plan, HoldsItsContents) {
    const plan p(small_contents());

    EXPECT_EQ(p.rank(), 1);
    EXPECT_EQ(p.num_ranks(), 3);
    EXPECT_EQ(p.route(), "grid:2");
    EXPECT_TRUE(p.is_deduplicated());
    EXPECT_EQ(p.num_items(), 1);
    EXPECT_EQ(p.num_slots(), 2);
    EXPECT_EQ(p.stages(), small_contents().stages);
    EXPECT_EQ(p.deliveries(), small_contents().deliveries);
    EXPECT_EQ(p.num_positions(), 3);
}

TEST(Plan, DiffersFromPlansWithOtherContents) {
    const plan p(small_contents());
    auto other = small_contents();
    other.deliveries[0].slot = 0;

    EXPECT_EQ(p, plan(small_contents()));
    EXPECT_NE(p, plan(other));
}

TEST(Plan, RefusesContentsThatAreNone) {
    using contents = plan::contents;
    const std::vector<std::function<void(contents&)>> changes{
        [](contents& c) { c.stages[1].sends[0].destination = 3; },
        [](contents& c) { c.stages[1].sends[0].destination = 1; },
        [](contents& c) { c.stages[0].receives[0].source = -1; },
        [](contents& c) { c.stages[1].sends[0].positions = {3}; },
        [](contents& c) { c.deliveries[0].position = -1; },
        [](contents& c) { c.stages[0].sends = c.stages[1].sends; },  // before it arrives
        [](contents& c) { c.deliveries[1].slot = 2; },
        [](contents& c) { c.stages[0].receives[0].first_position = 2; },
        [](contents& c) { c.stages[0].receives[0].num_items = -1; },
        [](contents& c) { c.stages[0].receives[0].num_items = greatest; },
        [](contents& c) {
            c.item_destinations = {2, 2};
        },  // for one own item
        [](contents& c) { c.item_destinations = {3}; },
        [](contents& c) { c.rank = 3; },
        [](contents& c) { c.num_items = -1; },
        [](contents& c) { c.num_slots = -2; }};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto changed = small_contents();
        changes[i](changed);

        const error fault = thrown_by([&] { plan{changed}; });

        EXPECT_EQ(fault.code(), errc::invalid_plan) << i;
        EXPECT_EQ(fault.rank(), changed.rank) << i;
    }
}

TEST(Plan, IsPrintedInAFewLinesPerStage) {
    EXPECT_EQ(to_string(plan(small_contents())),
              "rank 1 of 3: grid:2+dedup, 1 items, 2 slots\n"
              "  stage 0\n"
              "    from 0: 2 items, positions 1...2\n"
              "  stage 1\n"
              "    to 2: 2 items, positions 0 1\n"
              "  deliver 2 (position>slot): 1>1 2>0\n");
}

TEST(Plan, WithoutDeduplicationIsPrintedSo) {
    auto contents = small_contents();
    contents.is_deduplicated = false;

    EXPECT_TRUE(to_string(plan(contents)).starts_with("rank 1 of 3: grid:2, 1 items, 2 slots\n"));
}

TEST(PlanJson, HasTheSchemaAndAllFields) {
    EXPECT_EQ(json::parse(to_json(plan(small_contents()))), json::parse(R"({
        "schema": "crossdock.plan/1", "rank": 1, "ranks": 3, "route": "grid:2", "dedup": true,
        "items": 1, "slots": 2,
        "stages": [{"sends": [], "receives": [{"source": 0, "first_position": 1, "num_items": 2}]},
                   {"sends": [{"destination": 2, "positions": [0, 1]}], "receives": []}],
        "deliveries": [{"position": 1, "slot": 1}, {"position": 2, "slot": 0}]})"));
}

TEST(PlanJson, ReadsEveryPlanBackEqual) {
    for (const auto& regions : test::conformance_topologies(7)) {
        for (const auto& name : test::conformance_routes()) {
            for (const auto& [pattern_name, patterns] : test::conformance_patterns(7)) {
                for (const auto& p : test::compile_route(name, regions, patterns, false))
                    ASSERT_EQ(plan_from_json(to_json(p)), p) << name << " " << pattern_name;
            }
        }
    }
}

error fault_of_json(const json& value) {
    return thrown_by([&] { return plan_from_json(value.dump()); });
}

TEST(PlanJson, RefusesWhatIsNotJson) {
    std::vector<std::string> texts{"{", "plan", "[1,2", "\xff"};
    const std::string whole = to_json(plan(small_contents()));
    for (std::size_t length = 0; length < whole.size(); ++length)
        texts.push_back(whole.substr(0, length));
    for (const auto& text : texts)
        EXPECT_EQ(thrown_by([&] { return plan_from_json(text); }).code(), errc::parse_error)
            << text;
}

TEST(PlanJson, RefusesAMissingField) {
    const auto whole = json::parse(to_json(plan(small_contents())));
    for (const auto& field : whole.items()) {
        auto value = whole;
        value.erase(field.key());

        EXPECT_EQ(fault_of_json(value).code(), errc::parse_error) << field.key();
    }
}

TEST(PlanJson, RefusesAFieldOfAnotherType) {
    const auto whole = json::parse(to_json(plan(small_contents())));
    for (const auto& field : whole.items()) {
        for (const json& other :
             {json("text"), json(true), json(1.5), json(1e140), json(std::int64_t{1} << 40),
              json(nullptr), json::object(), json::array({1})}) {
            if (other.type() == field.value().type() ||
                (other.is_number_integer() && field.value().is_number() &&
                 (field.key() == "items" || field.key() == "slots"))) {
                continue;
            }
            auto value = whole;
            value[field.key()] = other;

            EXPECT_EQ(fault_of_json(value).code(), errc::parse_error) << field.key() << other;
        }
    }
}

TEST(PlanJson, RefusesValuesThatMakeNoPlan) {
    const auto code_with = [](const char* place, const json& other) {
        auto value = json::parse(to_json(plan(small_contents())));
        value[json::json_pointer(place)] = other;
        return fault_of_json(value).code();
    };

    EXPECT_EQ(code_with("/schema", "crossdock.plan/2"), errc::parse_error);
    EXPECT_EQ(code_with("/stages/1/sends/0/destination", (std::int64_t{1} << 32) + 2),
              errc::parse_error);
    EXPECT_EQ(code_with("/deliveries/0/slot", 2), errc::invalid_plan);
}

}  // namespace
}  // namespace crossdock::plan_test
