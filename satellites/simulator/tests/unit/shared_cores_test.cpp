#include "satellites/simulator/src/shared_cores.hpp"

#include <gtest/gtest.h>

namespace crossdock::shared_cores_test {
namespace {

constexpr picoseconds slice = 10;

void expect_slice(const std::optional<shared_cores::next_slice>& found, rank_t rank,
                  picoseconds start) {
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->rank, rank);
    EXPECT_EQ(found->start, start);
}

TEST(SharedCores, ATurnComesRoundToARank) {
    shared_cores cores(1, 4, slice);

    // Looks begin at 0 by rank 0, at 10 by rank 1, ... at 40 by rank 0 again.
    expect_slice(cores.want(2, 0), 2, 30);
    EXPECT_TRUE(cores.begin(2, 30));
}

TEST(SharedCores, WhoHasLookedWaitsForARound) {
    shared_cores cores(1, 4, slice);

    expect_slice(cores.want(2, 21), 2, 70);
    EXPECT_TRUE(cores.begin(2, 70));
}

TEST(SharedCores, WhoIsNearerGoesFirst) {
    shared_cores cores(1, 4, slice);

    expect_slice(cores.want(3, 5), 3, 40);
    expect_slice(cores.want(2, 15), 2, 30);
    EXPECT_FALSE(cores.want(0, 25).has_value());

    EXPECT_TRUE(cores.begin(2, 30));
    EXPECT_FALSE(cores.begin(3, 40));
    expect_slice(cores.give_up(2, 130), 3, 140);
    EXPECT_TRUE(cores.begin(3, 140));
    expect_slice(cores.give_up(3, 200), 0, 210);
}

TEST(SharedCores, WhoComesTooLateForItsLookDoesNotGoFirst) {
    shared_cores cores(1, 4, slice);

    expect_slice(cores.want(3, 0), 3, 40);

    EXPECT_FALSE(cores.want(1, 11).has_value());
    EXPECT_TRUE(cores.begin(3, 40));
    expect_slice(cores.give_up(3, 100), 1, 120);
}

TEST(SharedCores, NobodyTakesTurnsWhileARankWorks) {
    shared_cores cores(1, 3, slice);
    cores.want(0, 0);
    ASSERT_TRUE(cores.begin(0, 10));

    EXPECT_FALSE(cores.want(1, 20).has_value());
    EXPECT_FALSE(cores.want(2, 30).has_value());
    expect_slice(cores.give_up(0, 1000), 1, 1010);
}

TEST(SharedCores, ConsecutiveRanksAreOnACore) {
    shared_cores cores(2, 5, slice);

    expect_slice(cores.want(2, 0), 2, 30);  // of 0 1 2
    expect_slice(cores.want(4, 0), 4, 20);  // of 3 4
    EXPECT_TRUE(cores.begin(4, 20));
    EXPECT_TRUE(cores.begin(2, 30));
}

TEST(SharedCores, TurnsWithoutTimeComeAtOnce) {
    shared_cores cores(1, 4, 0);

    expect_slice(cores.want(3, 100), 3, 100);
    EXPECT_TRUE(cores.begin(3, 100));
}

TEST(SharedCores, MoreCoresThanRanksServeEachAlone) {
    shared_cores cores(8, 2, slice);

    expect_slice(cores.want(1, 95), 1, 110);
}

}  // namespace
}  // namespace crossdock::shared_cores_test
