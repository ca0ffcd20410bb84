#include "src/select/buffer_choice.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/machines.hpp"

namespace crossdock::buffer_choice_test {
namespace {

// 20 ns for a message's overheads, 3 ns and 0.5 for a byte for a copy, 7 ns for a hand-over.
machine round_numbers() {
    auto m = test::uniform_machine(10, 100, 1);
    m.copy_seconds_per_item = 3e-9;
    m.copy_seconds_per_byte = 0.5e-9;
    m.hand_over_seconds = 7e-9;
    return m;
}

TEST(BufferChoice, PricesMessagesCopiesAndHandOvers) {
    const auto m = round_numbers();

    EXPECT_DOUBLE_EQ(seconds_per_item({.messages = 0.25}, 8, m), 5e-9);
    EXPECT_DOUBLE_EQ(seconds_per_item({.copies = 2}, 8, m), 14e-9);
    EXPECT_DOUBLE_EQ(seconds_per_item({.hand_overs = 0.5}, 8, m), 3.5e-9);
    EXPECT_DOUBLE_EQ(seconds_per_item({0, 0, 0.25, 2, 0.5}, 8, m), 22.5e-9);
}

TEST(BufferChoice, IsTheCheapestWhoseBuffersStayInTheCache) {
    const buffering dear{100, 100, 1, 0, 0};
    const buffering cheap{100, 100, 0, 1, 0};
    const buffering cheapest_but_large{101, 100, 0, 0, 0};
    const auto choose = [](const std::vector<buffering>& ways) {
        return choose_buffering(ways, 8, round_numbers());
    };

    EXPECT_EQ(choose({dear, cheap, cheapest_but_large}), 1U);
    EXPECT_EQ(choose({cheap, dear}), 0U);
    EXPECT_EQ(choose({cheap, cheap}), 0U);
    EXPECT_EQ(choose({cheapest_but_large, dear}), 1U);
}

TEST(BufferChoice, IsTheLastOneIfNoneStaysInTheCache) {
    const std::vector<buffering> ways{{2, 1, 0, 0, 0}, {2, 1, 1, 1, 1}};

    EXPECT_EQ(choose_buffering(ways, 8, round_numbers()), 1U);
}

}  // namespace
}  // namespace crossdock::buffer_choice_test
