#include "crossdock/schedule.hpp"

#include <gtest/gtest.h>

#include "support.hpp"
#include "support/machines.hpp"

namespace crossdock::goal_test {
namespace {

constexpr const char* head =
    "// made by crossdock for uniform; times in nanoseconds, parameters as LogGOPSim takes them\n";

machine copying_machine() {
    auto m = test::uniform_machine(100, 1000, 2);
    m.copy_seconds_per_byte = 1e-9;
    m.copy_seconds_per_item = 5e-9;
    return m;
}

TEST(Goal, CopyingIsACalculationBeforeASendAndAfterAReceive) {
    const auto layout = test::layout_of("1x3");
    const auto s =
        schedule_of(layout, test::plans_of({{1, 2}, {}, {}}, "1x3", "direct"), {8, false});

    EXPECT_EQ(to_goal(layout, s, copying_machine()),
              std::string(head) +
                  "// inside regions (messages: 2): -L 1000 -o 100 -g 0 -G 2 -O 0 -S 1073741824\n"
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
    const auto layout = test::layout_of("1,2");
    const auto s =
        schedule_of(layout, test::plans_of({{1, 2}, {}, {}}, "1,2", "two_step"), {8, false});

    EXPECT_EQ(to_goal(layout, s, test::uniform_machine(100, 1000, 2)),
              std::string(head) +
                  "// inside regions (messages: 1): -L 1000 -o 100 -g 0 -G 2 -O 0 -S 1073741824\n"
                  "// between nodes (messages: 1): -L 1000 -o 100 -g 0 -G 2 -O 0 -S 1073741824\n"
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
    const auto s =
        test::made_of({{test::copy_of(7), test::copy_of(7), test::step().after({0, 1})}});
    const auto layout = test::layout_of("1x1");

    EXPECT_EQ(to_goal(layout, s, copying_machine()), std::string(head) +
                                                         "num_ranks 1\n"
                                                         "rank 0 {\n"
                                                         "l1: calc 7\n"
                                                         "l2: calc 7\n"
                                                         "l3: calc 0\n"
                                                         "l3 requires l1\n"
                                                         "l3 requires l2\n"
                                                         "}\n");
}

TEST(Goal, PicosecondsMakeWholeNumbersOfParametersAndCopies) {
    auto m = test::uniform_machine(0.25, 1000, 0.16);
    m.copy_seconds_per_byte = 0.3e-9;
    m.levels[3].receive_overhead_seconds = 0.75e-9;
    m.levels[3].rendezvous_bytes = count_t{1} << 40;
    const auto layout = test::layout_of("2x1");
    const auto s = schedule_of(layout, test::plans_of({{1}, {}}, "2x1", "direct"), {8, false});

    EXPECT_EQ(to_goal(layout, s, m, goal_unit::picosecond),
              "// made by crossdock for uniform; times in picoseconds, parameters as LogGOPSim "
              "takes them\n"
              "// between nodes (messages: 1): -L 1000000 -o 500 -g 0 -G 160 -O 0 -S 2147483647"
              " (o 250 to send, 750 to receive)\n"
              "num_ranks 2\n"
              "rank 0 {\n"
              "l1: calc 2400\n"
              "l2: send 8b to 1 tag 0\n"
              "l2 requires l1\n"
              "}\n"
              "rank 1 {\n"
              "l1: recv 8b from 0 tag 0\n"
              "l2: calc 2400\n"
              "l2 requires l1\n"
              "}\n");
}

}  // namespace
}  // namespace crossdock::goal_test
