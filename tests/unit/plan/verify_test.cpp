#include "crossdock/plan.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "support.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::verify_test {
namespace {

using test::thrown_by;

/// Rank 0 sends items 0 and 1 to rank 3 by way of rank 2, which gets item 0 as well ("2x2").
std::vector<pattern> small_patterns() {
    test::pattern_builder builder(4);
    builder.send(0, 0, 3);
    builder.send(0, 1, 3);
    builder.send(0, 0, 2);
    return builder.take();
}

std::vector<plan> small_plans() {
    return test::compile_route("two_step", topology::from_string("2x2"), small_patterns());
}

TEST(Verify, AcceptsWhatWasCompiled) { EXPECT_NO_THROW(verify(small_plans(), small_patterns())); }

TEST(Verify, AcceptsAPatternWhosePlansAreOfAnotherRoute) {
    const auto plans =
        test::compile_route("three_step", topology::from_string("3,1"), small_patterns(), false);

    EXPECT_NO_THROW(verify(plans, small_patterns()));
}

TEST(Verify, AcceptsNoRanks) { EXPECT_NO_THROW(verify({}, {})); }

TEST(Verify, NamesWhereAChangedPlanIsWrong) {
    using contents = plan::contents;
    const std::vector<outgoing_message> to_3{{3, {0}}};
    const std::vector<outgoing_message> twice_to_2{{2, {0}}, {2, {1}}};
    const std::vector<incoming_message> twice_from_0{{0, 0, 1}, {0, 1, 1}};
    struct one_change {
        std::size_t rank;
        std::function<void(contents&)> make;
        const char* fault;
    };
    const one_change changes[] = {
        {3, [](contents& c) { c.deliveries.pop_back(); }, "rank 3 slot 1 is never filled"},
        {3, [](contents& c) { std::swap(c.deliveries[0].slot, c.deliveries[1].slot); },
         "rank 3 slot 1 gets item 0 of rank 0, but needs item 1 of rank 0"},
        {0, [](contents& c) { c.stages[0].sends[0].positions[1] = 0; },
         "rank 3 slot 1 gets item 0 of rank 0, but needs item 1 of rank 0"},
        {2, [](contents& c) { c.stages[1].sends[0].positions[0] = 1; },
         "rank 3 slot 0 gets item 1 of rank 0, but needs item 0 of rank 0"},
        {3, [](contents& c) { c.deliveries[1] = c.deliveries[0]; },
         "rank 3 slot 0 is filled twice"},
        {0, [](contents& c) { c.stages[0].sends.clear(); },
         "rank 2 expects a message from 0 in stage 0 that is not sent"},
        {2, [](contents& c) { c.stages[1].sends[0].destination = 1; },
         "rank 2 sends a message to 1 in stage 1 that is not received"},
        {0, [&](contents& c) { c.stages[1].sends = to_3; },
         "rank 0 sends a message to 3 in stage 1 that is not received"},
        {0, [](contents& c) { c.stages[0].sends[0].positions = {0}; },
         "stage 0: rank 0 sends 1 items to rank 2, which expects 2"},
        {0, [&](contents& c) { c.stages[0].sends = twice_to_2; },
         "rank 0 stage 0: two messages to 2, or not sorted"},
        {2, [&](contents& c) { c.stages[0].receives = twice_from_0; },
         "rank 2 stage 0: two messages from 0, or not sorted"},
        {1, [](contents& c) { c.stages.pop_back(); }, "rank 1 has 1 stages, but rank 0 has 2"},
        {1, [](contents& c) { c.stages.emplace_back(); }, "rank 1 has 3 stages, but rank 0 has 2"}};
    for (const auto& [rank, change, text] : changes) {
        auto plans = small_plans();
        auto changed = test::contents_of(plans[rank]);
        change(changed);
        plans[rank] = plan(changed);

        const error fault = thrown_by([&] { verify(plans, small_patterns()); });

        EXPECT_EQ(fault.code(), errc::invalid_plan);
        EXPECT_STREQ(fault.what(), text);
    }
}

TEST(Verify, NamesASlotThatNobodyFills) {
    auto patterns = small_patterns();
    auto plans = small_plans();
    patterns[3].num_slots = 3;
    auto contents = test::contents_of(plans[3]);
    contents.num_slots = 3;
    contents.deliveries.push_back({1, 2});
    plans[3] = plan(contents);

    const error fault = thrown_by([&] { verify(plans, patterns); });

    EXPECT_STREQ(fault.what(), "rank 3 slot 2 gets item 1 of rank 0, but nothing belongs there");
}

TEST(Verify, NamesTheSlotBehindAMessageThatBothSidesDropped) {
    auto plans = small_plans();
    auto sender = test::contents_of(plans[2]);
    sender.stages[1].sends.clear();
    plans[2] = plan(sender);
    auto receiver = test::contents_of(plans[3]);
    receiver.stages[1].receives.clear();
    receiver.deliveries.clear();
    plans[3] = plan(receiver);

    const error fault = thrown_by([&] { verify(plans, small_patterns()); });

    EXPECT_STREQ(fault.what(), "rank 3 slot 0 is never filled");
}

TEST(Verify, NamesAPlanOfAnotherRank) {
    auto plans = small_plans();
    std::swap(plans[1], plans[2]);

    EXPECT_STREQ(thrown_by([&] { verify(plans, small_patterns()); }).what(),
                 "plan 1 is of rank 2 of 4");
}

TEST(Verify, NamesAPlanOfAnotherLengthThanItsPattern) {
    auto patterns = small_patterns();
    ++patterns[1].num_items;

    EXPECT_STREQ(thrown_by([&] { verify(small_plans(), patterns); }).what(),
                 "rank 1: plan and pattern differ in the number of items or slots");
}

TEST(Verify, NamesASourceThatListsFewerItemsThanExpected) {
    auto patterns = small_patterns();
    patterns[0].sends = {};
    patterns[0].sends.append(3, std::vector<count_t>{0});
    patterns[0].sends.append(2, std::vector<count_t>{0});

    EXPECT_STREQ(thrown_by([&] { verify(small_plans(), patterns); }).what(),
                 "rank 0 lists fewer items for 3 than expected");
}

TEST(Verify, RefusesAnotherNumberOfPlansThanPatterns) {
    const auto plans = small_plans();

    const error fault = thrown_by([&] { verify(std::span(plans).first(3), small_patterns()); });

    EXPECT_EQ(fault.code(), errc::size_mismatch);
    EXPECT_STREQ(fault.what(), "there are 3 plans for 4 patterns; give one for each");
}

}  // namespace
}  // namespace crossdock::verify_test
