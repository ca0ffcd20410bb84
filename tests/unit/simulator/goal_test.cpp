#include "crossdock/schedule.hpp"

#include <gtest/gtest.h>

#include "support.hpp"
#include "support/machines.hpp"

namespace crossdock::goal_test {
namespace {

machine copying_machine() {
    auto m = test::uniform_machine(100, 1000, 2);
    m.copy_seconds_per_byte = 1e-9;
    m.copy_seconds_per_item = 5e-9;
    return m;
}

TEST(Goal, CopyingIsACalculationBeforeASendAndAfterAReceive) {
    const rank_layout layout(topology::from_string("1x3"));
    const auto s = schedule_of(layout, test::plans_of({{1, 2}, {}, {}}, "1x3", "direct"));

    EXPECT_EQ(to_goal(s, copying_machine()),
              "num_ranks 3\n"
              "rank 0 {\n"
              "l1: calc 13\n"
              "l2: send 8b to 1 tag 0\n"
              "l2 requires l1\n"
              "l3: calc 13\n"
              "l4: send 8b to 2 tag 0\n"
              "l4 requires l3\n"
              "}\n"
              "rank 1 {\n"
              "l1: recv 8b from 0 tag 0\n"
              "l2: calc 13\n"
              "l2 requires l1\n"
              "}\n"
              "rank 2 {\n"
              "l1: recv 8b from 0 tag 0\n"
              "l2: calc 13\n"
              "l2 requires l1\n"
              "}\n");
}

TEST(Goal, WhatIsForwardedRequiresWhatCame) {
    const rank_layout layout(topology::from_string("1,2"));
    const auto s = schedule_of(layout, test::plans_of({{1, 2}, {}, {}}, "1,2", "two_step"));

    EXPECT_EQ(to_goal(s, test::uniform_machine(100, 1000, 2)),
              "num_ranks 3\n"
              "rank 0 {\n"
              "l1: send 8b to 1 tag 0\n"
              "}\n"
              "rank 1 {\n"
              "l1: recv 8b from 0 tag 0\n"
              "l2: send 8b to 2 tag 1\n"
              "l2 requires l1\n"
              "}\n"
              "rank 2 {\n"
              "l1: recv 8b from 1 tag 1\n"
              "}\n");
}

TEST(Goal, OneCopyAndManyRequirements) {
    schedule s;
    s.begin_rank();
    operation copy;
    copy.copied_bytes = 7;
    const auto first = s.add(copy);
    const auto second = s.add(copy);
    s.add(operation{}, std::vector{first, second});

    EXPECT_EQ(to_goal(s, copying_machine()),
              "num_ranks 1\n"
              "rank 0 {\n"
              "l1: calc 7\n"
              "l2: calc 7\n"
              "l3: calc 0\n"
              "l3 requires l1\n"
              "l3 requires l2\n"
              "}\n");
}

}  // namespace
}  // namespace crossdock::goal_test
