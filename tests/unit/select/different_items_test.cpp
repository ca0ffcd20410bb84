#include "src/select/different_items.hpp"

#include <gtest/gtest.h>

namespace crossdock::different_items_test {
namespace {

count_t different(count_t num_items, std::initializer_list<count_t> asked) {
    different_items items(num_items);
    for (const count_t num_asked : asked) items.add(num_asked);
    return items.count();
}

TEST(DifferentItems, AreAskedForAlike) {
    EXPECT_EQ(different(10, {5, 5}), 8);
    EXPECT_EQ(different(1000, {10, 10}), 20);
    EXPECT_EQ(different(10, {10, 10, 3}), 10);
}

TEST(DifferentItems, AreNoFewerThanOneRankAsksForAndNoMoreThanAllDo) {
    EXPECT_EQ(different(10, {7}), 7);
    EXPECT_EQ(different(10, {25, 3}), 25);
    EXPECT_EQ(different(1, {1, 0}), 1);
    EXPECT_EQ(different(10, {}), 0);
}

TEST(DifferentItems, AreAllIfNothingIsSentTwice) { EXPECT_EQ(different(0, {5, 5, 2}), 12); }

}  // namespace
}  // namespace crossdock::different_items_test
