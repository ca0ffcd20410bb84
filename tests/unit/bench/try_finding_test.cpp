#include "tools/crossdock/try_finding.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crossdock::tool::try_finding_test {
namespace {

constexpr double us = 1e-6;

// A contender whose rounds are a tenth below and above its median, in an order of their own.
measured_contender contender(const char* name, bool is_route, double median, double setup_seconds) {
    measured_contender one{name, is_route, true, {}, median, setup_seconds};
    for (const double part : {0.9, 1.0, 1.1, 1.0, 0.9, 1.1, 1.0})
        one.rounds.push_back(part * median);
    return one;
}

measured_contender route(const char* name, double median, double setup_seconds = 50 * us) {
    return contender(name, true, median, setup_seconds);
}

// Both of MPI, and routes whose rounds are disturbed as theirs are.
std::vector<measured_contender> with_routes(std::vector<measured_contender> routes) {
    std::vector<measured_contender> all{
        contender("mpi_persistent", false, 100 * us, 50 * us),
        contender("mpi_neighbor_alltoallv", false, 120 * us, 40 * us)};
    all.insert(all.end(), routes.begin(), routes.end());
    return all;
}

// One that is disturbed when MPI is not.
measured_contender unsteady(const char* name, double median) {
    auto one = route(name, median);
    one.rounds.clear();
    for (const double part : {1.3, 1.0, 0.7, 1.0, 1.3, 0.7, 1.0})
        one.rounds.push_back(part * median);
    return one;
}

TEST(TryFinding, AFasterRouteIsAGain) {
    const auto found =
        judge(with_routes({route("direct", 99 * us), route("grid:2", 50 * us, 1025 * us)}), 7);

    EXPECT_STREQ(to_string(found.found), "gain");
    EXPECT_EQ(found.mpi, "mpi_persistent");
    EXPECT_EQ(found.route, "grid:2");
    EXPECT_DOUBLE_EQ(found.ratio.median, 0.5);
    EXPECT_EQ(found.exchanges_to_pay, 20);
    EXPECT_EQ(
        found.text,
        "The route grid:2 of crossdock takes 0.50 (0.50 to 0.50) times as long as the fastest "
        "that MPI offers, MPI by hand, persistent: medians of 50.0 and 100.0 microseconds. "
        "Its set-up pays off after 20 exchanges.");
}

TEST(TryFinding, DirectIsTakenWhereNoneGainsOverIt) {
    EXPECT_EQ(judge(with_routes({route("direct", 52 * us), route("grid:2", 50 * us)}), 7).route,
              "direct");
    EXPECT_EQ(judge(with_routes({route("direct", 53 * us), route("grid:2", 50 * us)}), 7).route,
              "grid:2");
    EXPECT_EQ(judge(with_routes({unsteady("direct", 20 * us), route("grid:2", 18 * us)}), 7).route,
              "direct");
}

TEST(TryFinding, DirectIsNotTakenForARouteThatIsDecided) {
    const auto found =
        judge(with_routes({unsteady("direct", 85 * us), route("grid:2", 80 * us)}), 7);

    EXPECT_EQ(found.route, "grid:2");
    EXPECT_STREQ(to_string(found.found), "gain");
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
    EXPECT_EQ(
        found.text,
        "Nothing is gained: leave it to MPI. The route direct of crossdock takes 1.00 (1.00 to "
        "1.00) times as long as the fastest that MPI offers, MPI by hand, persistent: medians "
        "of 100.0 and 100.0 microseconds.");
}

TEST(TryFinding, ItIsUndecidedWhereRatiosOfRoundsLieOnBothSides) {
    const auto found = judge(with_routes({unsteady("direct", 83 * us)}), 7);

    EXPECT_STREQ(to_string(found.found), "undecided");
    EXPECT_EQ(found.exchanges_to_pay, std::nullopt);
    EXPECT_EQ(found.text,
              "Undecided after 7 rounds: measure longer, by --seconds or --iterations. The route "
              "direct of crossdock takes 0.83 (0.53 to 1.20) times as long as the fastest that MPI "
              "offers, MPI by hand, persistent: medians of 83.0 and 100.0 microseconds.");
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
