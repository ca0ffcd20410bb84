// The mock is late, out of order between streams and in order within one, and finds access that must not be.
#include <gtest/gtest.h>

#include "crossdock/error.hpp"
#include "support.hpp"

namespace crossdock::device_test {

namespace {

std::shared_ptr<driver> mock(int seed) { return device::open("mock:" + std::to_string(seed)); }

// True for some seeds and false for others.
template <class Check>
bool differs_between_seeds(Check&& check) {
    bool found[2] = {false, false};
    for (int seed = 1; seed <= 20; ++seed) found[check(*mock(seed))] = true;
    return found[0] && found[1];
}

TEST(Mock, LetsTheHostNotTouchItsMemory) {
    const auto on = mock(1);
    const device_array<int> x(*on, {1, 2});
    EXPECT_TRUE(on->can_use(&x.data()[1]));
    EXPECT_FALSE(on->can_use(&on));
    EXPECT_EQ(x.get(nullptr), (std::vector<int>{1, 2}));
    volatile int* const there = x.data();
    EXPECT_DEATH({ (void)*there; }, "");
    EXPECT_DEATH(*there = 3, "");
    EXPECT_DEATH(there[2] = 3, "");
}

TEST(Mock, FindsKernelsThatLeaveTheirArrays) {
    const auto on = mock(1);
    const device_array<double> x(*on, std::vector<double>(8)), y(*on, std::vector<double>(8));
    EXPECT_DEATH(
        {
            on->copy({y.data(), x.data(), nullptr, nullptr, 9, 8}, nullptr);
            on->wait_for(nullptr);
        },
        "");
}

TEST(Mock, FindsWhatIsUsedAfterItIsFreed) {
    const auto on = mock(1);
    const device_array<double> y(*on, std::vector<double>(8));
    EXPECT_DEATH(
        {
            auto x = std::make_unique<device_array<double>>(*on, std::vector<double>(8));
            on->copy({y.data(), x->data(), nullptr, nullptr, 8, 8}, nullptr);
            x.reset();
            on->wait_for(nullptr);
        },
        "");
    auto target = std::make_unique<pinned_array<double>>(*on, 8);
    on->copy_down(target->data(), y.data(), 64, nullptr);
    target.reset();
    EXPECT_THROW(on->wait_for(nullptr), error);
    EXPECT_THROW(on->wait_for(nullptr), error);
}

TEST(Mock, IsLate) {
    EXPECT_TRUE(differs_between_seeds([](driver& on) {
        const own_stream by(on);
        const device_array<int> x(on, {7});
        const pinned_array<int> target(on, 1);
        const device::owned_event event(on);
        EXPECT_TRUE(on.is_complete(event));
        target.data()[0] = 7;
        on.copy_down(target.data(), x.data(), sizeof(int), by);
        on.record(event, by);
        EXPECT_NE(target.data()[0], 7);
        const bool is_complete = on.is_complete(event);
        on.wait(event);
        EXPECT_EQ(target.data()[0], 7);
        return is_complete;
    }));
}

// Of two streams that write to one place, the last is either; the steps of one stream are in order.
TEST(Mock, RunsStreamsInAnyOrder) {
    EXPECT_TRUE(differs_between_seeds([](driver& on) {
        const own_stream a(on), b(on);
        const device_array<int> one(on, {1}), two(on, {2}), to(on, {0});
        on.copy({to.data(), one.data(), nullptr, nullptr, 1, sizeof(int)}, a);
        on.copy({to.data(), two.data(), nullptr, nullptr, 1, sizeof(int)}, b);
        on.wait_for(a);
        on.wait_for(b);
        return to.get(a)[0] == 1;
    }));
}

TEST(Mock, LetsStreamsWaitForEvents) {
    for (int seed = 1; seed <= 20; ++seed) {
        const auto kept = mock(seed);
        driver& on = *kept;
        const own_stream a(on), b(on);
        const device_array<int> one(on, {1}), two(on, {2}), to(on, {0});
        const device::owned_event event(on);
        on.copy({to.data(), one.data(), nullptr, nullptr, 1, sizeof(int)}, a);
        on.record(event, a);
        on.let_wait(b, event);
        on.copy({to.data(), two.data(), nullptr, nullptr, 1, sizeof(int)}, b);
        on.wait_for(b);
        EXPECT_EQ(to.get(b)[0], 2);
    }
}

TEST(Driver, OfCudaSaysWhyThereIsNone) {
    try {
        const auto on = device::open("cuda");
        EXPECT_EQ(on->name(), "cuda");
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::invalid_state);
    }
}

}  // namespace

}  // namespace crossdock::device_test
