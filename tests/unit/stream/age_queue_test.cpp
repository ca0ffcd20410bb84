#include "src/stream/age_queue.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace crossdock::age_queue_test {
namespace {

struct entry {
    int name;
    std::int64_t since;
};

constexpr auto none_is_stale = [](const entry&) { return false; };

std::vector<int> names_of(age_queue<entry>& queue) {
    std::vector<int> names;
    while (const auto e = queue.take(none_is_stale)) names.push_back(e->name);
    return names;
}

age_queue<entry> queue_of(const std::vector<entry>& entries) {
    age_queue<entry> queue(100);
    for (const entry& e : entries) queue.add(e, none_is_stale);
    return queue;
}

TEST(AgeQueue, GivesTheOldestFirstAndEquallyOldOnesInTheirOrder) {
    age_queue<entry> queue = queue_of({{1, 20}, {2, 10}, {3, 20}, {4, 10}, {5, 15}});

    EXPECT_EQ(names_of(queue), (std::vector<int>{2, 4, 5, 1, 3}));
}

TEST(AgeQueue, SkipsWhatIsStale) {
    age_queue<entry> queue = queue_of({{1, 1}, {2, 2}, {3, 3}});

    const auto oldest = queue.take([](const entry& e) { return e.name < 3; });

    ASSERT_TRUE(oldest.has_value());
    EXPECT_EQ(oldest->name, 3);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(AgeQueue, GivesNothingYoungerThanTheLimit) {
    age_queue<entry> queue = queue_of({{1, 1}, {2, 2}, {3, 3}});

    EXPECT_EQ(queue.take_until(2, none_is_stale)->name, 1);
    EXPECT_EQ(queue.take_until(2, none_is_stale)->name, 2);
    EXPECT_FALSE(queue.take_until(2, none_is_stale).has_value());
    EXPECT_EQ(names_of(queue), (std::vector<int>{3}));
}

TEST(AgeQueue, ChoosesAmongWhatIsNotStale) {
    age_queue<entry> queue = queue_of({{1, 1}, {2, 2}, {3, 3}, {4, 4}});
    const auto is_even = [](const entry& e) { return e.name % 2 == 0; };
    const auto two_is_stale = [](const entry& e) { return e.name == 2; };

    EXPECT_EQ(queue.count_if(is_even, two_is_stale), 1U);
    EXPECT_EQ(queue.take_if(is_even, two_is_stale)->name, 4);
    EXPECT_FALSE(queue.take_if(is_even, two_is_stale).has_value());
    EXPECT_EQ(names_of(queue), (std::vector<int>{1, 3}));
}

TEST(AgeQueue, KeepsNoMoreThanItWasToldButForWhatIsNotStale) {
    age_queue<entry> queue(4);
    const auto odd_is_stale = [](const entry& e) { return e.name % 2 == 1; };

    for (int i = 0; i < 5; ++i) queue.add({i, i}, odd_is_stale);

    EXPECT_EQ(names_of(queue), (std::vector<int>{0, 2, 4}));
}

}  // namespace
}  // namespace crossdock::age_queue_test
