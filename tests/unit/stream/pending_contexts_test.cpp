#include "crossdock/detail/stream/pending_contexts.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

namespace crossdock::pending_contexts_test {
namespace {

TEST(ContextQueue, GivesBackInOrderWhateverItsFill) {
    context_queue<int> queue;
    std::deque<int> expected;
    std::mt19937 random(5);
    int next = 0;

    for (int round = 0; round < 500; ++round) {
        for (auto pushes = random() % 40; pushes > 0; --pushes) {
            queue.push(next);
            expected.push_back(next++);
        }
        std::vector<int> popped(random() % (expected.size() + 1));
        queue.pop(popped);
        for (const int context : popped) {
            ASSERT_EQ(context, expected.front());
            expected.pop_front();
        }
    }
    EXPECT_GT(next, 5000);
}

TEST(ContextQueue, TakesBackWhatWasPushedLast) {
    context_queue<int> queue;
    std::vector<int> popped(2);
    for (const int context : {1, 2, 3}) queue.push(context);

    queue.take_back();
    queue.push(4);
    queue.pop(popped);
    EXPECT_EQ(popped, (std::vector{1, 2}));
    popped.resize(1);
    queue.pop(popped);
    EXPECT_EQ(popped, std::vector{4});
    queue.take_back();  // nothing is left
    queue.push(5);
    queue.pop(popped);
    EXPECT_EQ(popped, std::vector{5});
}

TEST(OrderedContexts, KeepsWorkersApart) {
    ordered_contexts<int> contexts(3, 2);
    contexts.of({2, 0}).push(20);
    contexts.of({2, 1}).push(21);
    contexts.of({0, 1}).push(1);
    contexts.of({2, 1}).push(22);

    std::vector<int> one(1);
    std::vector<int> two(2);
    contexts.of({2, 1}).pop(two);
    EXPECT_EQ(two, (std::vector{21, 22}));
    contexts.of({0, 1}).pop(one);
    EXPECT_EQ(one, std::vector{1});
    contexts.of({2, 0}).pop(one);
    EXPECT_EQ(one, std::vector{20});
}

TEST(NumberedContexts, UsesFreeSlotsAgain) {
    numbered_contexts<char> contexts;
    const std::set<std::uint32_t> slots{contexts.add('a'), contexts.add('b'), contexts.add('c')};
    EXPECT_EQ(slots, (std::set<std::uint32_t>{0, 1, 2}));

    EXPECT_EQ(contexts.take(1), 'b');
    EXPECT_EQ(contexts.take(0), 'a');
    const std::set<std::uint32_t> again{contexts.add('d'), contexts.add('e')};

    EXPECT_EQ(again, (std::set<std::uint32_t>{0, 1}));
    EXPECT_EQ(contexts.take(2), 'c');
    EXPECT_EQ(contexts.take(*again.begin()) + contexts.take(*again.rbegin()), 'd' + 'e');
}

}  // namespace
}  // namespace crossdock::pending_contexts_test
