#include "tools/crossdock/try_finding.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crossdock::tool::try_finding_test {
namespace {

constexpr double us = 1e-6;

// Both of MPI; rounds differ by a tenth.
std::vector<measured_contender> with_routes(std::vector<measured_contender> routes) {
    std::vector<measured_contender> all{
        {"mpi_persistent", false, true, 90 * us, 100 * us, 50 * us},
        {"mpi_neighbor_alltoallv", false, true, 108 * us, 120 * us, 40 * us}};
    all.insert(all.end(), routes.begin(), routes.end());
    return all;
}

measured_contender route(const char* name, double median, double setup_seconds = 50 * us) {
    return {name, true, true, 0.9 * median, median, setup_seconds};
}

TEST(TryFinding, AFasterRouteIsAGain) {
    const auto found =
        judge(with_routes({route("direct", 99 * us), route("grid:2", 50 * us, 1025 * us)}), 7);

    EXPECT_STREQ(to_string(found.found), "gain");
    EXPECT_EQ(found.mpi, "mpi_persistent");
    EXPECT_EQ(found.route, "grid:2");
    EXPECT_DOUBLE_EQ(found.ratio, 0.5);
    EXPECT_EQ(found.exchanges_to_pay, 20);
    EXPECT_EQ(found.text,
              "The route grid:2 of crossdock takes 0.50 times as long as the fastest that MPI "
              "offers, MPI by hand, persistent: 50.0 microseconds instead of 100.0 microseconds. "
              "Its set-up pays off after 20 exchanges.");
}

TEST(TryFinding, DirectIsTakenWhereItIsAboutAsFast) {
    EXPECT_EQ(judge(with_routes({route("direct", 52 * us), route("grid:2", 50 * us)}), 7).route,
              "direct");
    EXPECT_EQ(judge(with_routes({route("direct", 53 * us), route("grid:2", 50 * us)}), 7).route,
              "grid:2");
}

TEST(TryFinding, ASetUpThatTakesNoLongerIsPaidAtOnce) {
    const auto found = judge(with_routes({route("direct", 50 * us, 10 * us)}), 7);

    EXPECT_EQ(found.exchanges_to_pay, 0);
    EXPECT_TRUE(found.text.ends_with(" Its set-up takes no longer, either."));
}

TEST(TryFinding, NothingIsGainedWhereMpiIsAsFast) {
    const auto found = judge(with_routes({route("direct", 100 * us)}), 7);

    EXPECT_STREQ(to_string(found.found), "no_gain");
    EXPECT_EQ(found.exchanges_to_pay, std::nullopt);
    EXPECT_EQ(found.text,
              "Nothing is gained: leave it to MPI. MPI's fastest, MPI by hand, "
              "persistent, takes 100.0 microseconds, and the route direct of crossdock takes 100.0 "
              "microseconds, 1.00 times as long.");
}

TEST(TryFinding, NothingIsGainedWithinWhatRoundsDifferBy) {
    const auto found = judge(with_routes({route("direct", 92 * us)}), 7);

    EXPECT_STREQ(to_string(found.found), "no_gain");
    EXPECT_TRUE(
        found.text.ends_with("0.92 times as long, which is within the variation between rounds."));
    EXPECT_STREQ(to_string(judge(with_routes({route("direct", 89 * us)}), 7).found), "gain");
}

TEST(TryFinding, AWrongContenderSpoilsAll) {
    auto wrong = route("two_step", 10 * us);
    wrong.is_verified = false;

    const auto found = judge(with_routes({route("direct", 50 * us), wrong}), 7);

    EXPECT_STREQ(to_string(found.found), "wrong");
    EXPECT_EQ(found.mpi, "two_step");
    EXPECT_EQ(found.text, "crossdock, two_step brought wrong values: nothing here can be trusted.");
}

TEST(TryFinding, WhereNobodySendsThereIsNothingToGain) {
    const auto found = judge(with_routes({route("direct", 1 * us)}), 0);

    EXPECT_STREQ(to_string(found.found), "nothing_sent");
    EXPECT_EQ(found.text, "No rank sends anything to another: there is nothing to gain.");
}

}  // namespace
}  // namespace crossdock::tool::try_finding_test
