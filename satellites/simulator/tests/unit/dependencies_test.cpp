#include "satellites/simulator/src/dependencies.hpp"

#include <gtest/gtest.h>

namespace crossdock::dependencies_test {
namespace {

std::vector<std::uint32_t> released_by(dependencies& d, std::uint32_t operation) {
    std::vector<std::uint32_t> released;
    d.complete(operation, [&](std::uint32_t later) { released.push_back(later); });
    return released;
}

// Rank 0 has operations 0 and 1, of which 1 requires 0. Rank 1 has 2, 3 and 4, of which 4 requires
// both others.
schedule two_ranks() {
    schedule s;
    s.begin_rank();
    s.add({});
    s.add({}, std::vector<std::uint32_t>{0});
    s.begin_rank();
    s.add({});
    s.add({});
    s.add({}, std::vector<std::uint32_t>{0, 1});
    return s;
}

TEST(Dependencies, OperationsThatRequireNothingCanBegin) {
    const dependencies d(two_ranks());

    std::vector<bool> met;
    for (std::uint32_t k = 0; k < 5; ++k) met.push_back(d.is_met(k));
    EXPECT_EQ(met, (std::vector<bool>{true, false, true, true, false}));
}

TEST(Dependencies, TheLastRequirementReleasesAnOperation) {
    dependencies d(two_ranks());

    EXPECT_EQ(released_by(d, 2), std::vector<std::uint32_t>{});
    EXPECT_EQ(released_by(d, 3), std::vector<std::uint32_t>{4});
    EXPECT_TRUE(d.is_met(4));
    EXPECT_FALSE(d.is_met(1));
    EXPECT_EQ(released_by(d, 0), std::vector<std::uint32_t>{1});
}

TEST(Dependencies, DependentsAreReleasedInTheirOrder) {
    schedule s;
    s.begin_rank();
    s.add({});
    for (int k = 0; k < 3; ++k) s.add({}, std::vector<std::uint32_t>{0});
    dependencies d(s);

    EXPECT_EQ(released_by(d, 0), (std::vector<std::uint32_t>{1, 2, 3}));
}

}  // namespace
}  // namespace crossdock::dependencies_test
